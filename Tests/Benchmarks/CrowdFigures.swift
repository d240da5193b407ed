import Attack
import Foundation
import TestSupport

/// The losses of honest callers at the port that a crowd attacked.
struct CrowdFigures: Sendable {
    /// The lowest share of their rate that honest callers keep beside a crowd.
    private static let keptRate = 0.8
    /// The highest latency of their requests beside a crowd, in milliseconds at the 99th percentile.
    private static let latency = 100.0

    let kind: HostileCrowd.Kind
    let before: HonestLoad
    let beside: HonestLoad
    let after: HonestLoad
    let connections: CrowdConnections
    let processors: ProcessorShares

    /// The crowd and its port.
    var name: String { "\(kind.rawValue) at \(kind.target.rawValue)" }

    /// The rate beside the crowd ÷ the mean of the rates before it and after it.
    var ratio: Double { beside.perSecond / ((before.perSecond + after.perSecond) / 2) }

    /// Prints all figures.
    ///
    /// - Returns: the bounds that were not kept.
    func report() -> [String] {
        Report.line("\n\(name)")
        connections.report()
        for (when, load) in [("before", before), ("beside", beside), ("after", after)] {
            Report.figure("honest requests \(when) the crowd", load.perSecond, "per second")
            Report.figure("  p50", load.milliseconds(0.5), "ms")
            Report.figure("  p99", load.milliseconds(0.99), "ms")
            for (failure, count) in load.failures.sorted(by: { $0.key < $1.key }) {
                Report.figure("  failed: \(failure)", Double(count), "")
            }
        }
        for (process, percent) in processors.percent {
            Report.figure("processor time, \(process)", percent, "% of \(ProcessorShares.processors) processors")
        }
        var missed: [String] = []
        if !Report.ratio("rate beside the crowd ÷ alone", ratio, reach: Self.keptRate) {
            missed.append("rate beside \(name)")
        }
        if !Report.bound("latency beside the crowd, p99", beside.milliseconds(0.99), "ms", limit: Self.latency) {
            missed.append("latency beside \(name)")
        }
        return missed
    }

    /// Prints the ratio and the latency in one line.
    ///
    /// - Parameter isKept: whether all bounds were kept.
    func summarize(isKept: Bool) {
        let figures = String(format: "%.3f, p99 %.1f ms", ratio, beside.milliseconds(0.99))
        let name = name.padding(toLength: 46, withPad: " ", startingAt: 0)
        Report.line("  \(name) \(figures): \(isKept ? "kept" : "NOT kept")")
    }
}

/// The connections of a crowd while honest callers were measured.
struct CrowdConnections: Sendable {
    /// The number of connections that the crowd holds at a time.
    let wanted: Int
    /// The number of connections that it opened until the end of the measurement.
    let opened: Int
    /// The number of answers by status. 0 counts the connections that the service closed.
    let answers: [Int: Int]
    /// The open connections of the crowd in each second.
    let atCrowd: [Int]
    /// The open files that the service has in addition in each second. Nearly all are connections of the crowd.
    let atService: [Int]
    /// The requests that the service still processed at the end; nil for the port of providers.
    let inProgress: Double?

    /// Counts the connections each second.
    ///
    /// - Parameters:
    ///   - filesBefore: the open files of the service without the crowd.
    static func count(
        of crowd: HostileCrowd, at service: String, in suite: MeasuredSuite, filesBefore: Int, seconds: Int
    ) async throws -> (atCrowd: [Int], atService: [Int]) {
        var (atCrowd, atService): ([Int], [Int]) = ([], [])
        for second in 0..<seconds {
            if second > 0 { try await Task.sleep(for: .seconds(1)) }
            atCrowd.append(crowd.open)
            atService.append(try suite.openFiles(of: service) - filesBefore)
        }
        return (atCrowd, atService)
    }

    func report() {
        Report.figure("hostile connections at a time", Double(wanted), "")
        Report.figure("  opened, with those after a refusal", Double(opened), "")
        Report.line("  open at the crowd: \(Self.range(atCrowd)); at the service: \(Self.range(atService))")
        let all = answers.sorted { $0.key < $1.key }.map { status, count in
            status == 0 ? "\(count) × closed" : "\(count) × \(status)"
        }
        Report.line("  answers to the crowd: \(all.isEmpty ? "none" : all.joined(separator: ", "))")
        if let inProgress { Report.figure("requests in progress at the end", inProgress, "") }
    }

    private static func range(_ counts: [Int]) -> String { "\(counts.min() ?? 0) to \(counts.max() ?? 0)" }
}

/// The shares of this machine's processors in the measurement beside a crowd.
struct ProcessorShares: Sendable {
    /// The number of processors.
    static let processors = ProcessInfo.processInfo.activeProcessorCount

    /// The processes, or the threads of the crowd, each with its percentage of all processors.
    let percent: [(process: String, percent: Double)]

    /// The processor time until a moment.
    struct Reading: Sendable {
        private let moment = ContinuousClock.now
        private let seconds: [String: Double]

        private init(seconds: [String: Double]) { self.seconds = seconds }

        static func take(_ suite: MeasuredSuite) async throws -> Reading {
            let crowd = try await HostileCrowd.processorSeconds()
            var seconds = try suite.usage().mapValues(\.processorSeconds)
            // The crowd has threads of its own in this process.
            let client = seconds.removeValue(forKey: "client") ?? 0
            seconds["honest callers"] = client - crowd
            seconds["the crowd"] = crowd
            return Reading(seconds: seconds)
        }

        /// Returns the shares since an earlier reading, the largest first.
        func since(_ earlier: Reading) -> ProcessorShares {
            let elapsed: Double = earlier.moment.duration(to: moment) / .seconds(1)
            let available = elapsed * Double(ProcessorShares.processors)
            let used = seconds.map { process, seconds in
                (process: process, percent: (seconds - (earlier.seconds[process] ?? 0)) / available * 100)
            }
            return ProcessorShares(percent: used.sorted { $0.percent > $1.percent })
        }
    }
}
