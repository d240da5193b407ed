import Foundation
import Glibc

/// The processor time and the context switches of a process, from `/proc`.
public struct ProcessUsage: Sendable, Equatable {
    /// The seconds on a processor, in user and kernel mode.
    public var processorSeconds: Double
    /// The voluntary and involuntary context switches of the live threads.
    public var switches: Int

    public init(processorSeconds: Double = 0, switches: Int = 0) {
        (self.processorSeconds, self.switches) = (processorSeconds, switches)
    }

    public static func + (left: Self, right: Self) -> Self {
        Self(
            processorSeconds: left.processorSeconds + right.processorSeconds, switches: left.switches + right.switches)
    }

    public static func - (left: Self, right: Self) -> Self {
        Self(
            processorSeconds: left.processorSeconds - right.processorSeconds, switches: left.switches - right.switches)
    }

    /// Returns the usage of a process with all its threads; nil if it has ended.
    public static func of(_ process: Int32) -> ProcessUsage? {
        guard let stat = stat(of: process) else { return nil }
        return ProcessUsage(processorSeconds: seconds(stat.own), switches: switches(of: process))
    }

    /// Returns the usage of a process, of its running children, and of the children whose end it has awaited.
    ///
    /// The context switches of ended children are unknown. Returns nil if the process has ended.
    public static func ofFamily(_ parent: Int32) -> ProcessUsage? {
        guard let stat = stat(of: parent) else { return nil }
        let own = ProcessUsage(processorSeconds: seconds(stat.own + stat.awaited), switches: switches(of: parent))
        let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return all.compactMap { Int32($0) }
            .filter { self.stat(of: $0)?.parent == parent }
            .compactMap(of)
            .reduce(own, +)
    }

    private static func seconds(_ ticks: Double) -> Double { ticks / Double(sysconf(Int32(_SC_CLK_TCK))) }

    private static func stat(of process: Int32) -> ProcessStat? {
        (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)).flatMap { ProcessStat($0) }
    }

    private static func switches(of process: Int32) -> Int {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        return threads.reduce(0) { sum, thread in
            let status = try? String(contentsOfFile: "/proc/\(process)/task/\(thread)/status", encoding: .utf8)
            return sum + switches(inStatus: status ?? "")
        }
    }

    /// Returns the voluntary and involuntary context switches in a text of `/proc/PID/status`.
    public static func switches(inStatus text: String) -> Int {
        text.split(separator: "\n").reduce(0) { sum, line in
            let words = line.split { $0 == ":" || $0.isWhitespace }
            guard words.count == 2, words[0].hasSuffix("voluntary_ctxt_switches") else { return sum }
            return sum + (Int(words[1]) ?? 0)
        }
    }
}

/// The fields of `/proc/PID/stat` that a measurement needs. Times are in clock ticks.
public struct ProcessStat: Sendable, Equatable {
    /// The process id of the parent.
    public let parent: Int32
    /// The time of all threads of the process, in user and kernel mode.
    public let own: Double
    /// The time of the children whose end the process has awaited.
    public let awaited: Double

    /// Parses the text of the file; nil if it has another form.
    public init?(_ text: String) {
        // The name in parentheses may contain spaces and parentheses.
        guard let end = text.lastIndex(of: ")") else { return nil }
        // proc(5): the parent is the 4th field, utime to cstime are the 14th to 17th; the 3rd is the first here.
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 14, let parent = Int32(fields[1]) else { return nil }
        let times = fields[11...14].compactMap { Double($0) }
        guard times.count == 4 else { return nil }
        (self.parent, own, awaited) = (parent, times[0] + times[1], times[2] + times[3])
    }
}

/// Returns the percentile of sorted values by the nearest-rank method; nil without values.
///
/// - Parameter share: from 0 to 1.
public func nearestRank<Value>(_ sorted: [Value], _ share: Double) -> Value? {
    guard !sorted.isEmpty else { return nil }
    let rank = Int((Double(sorted.count) * share).rounded(.up))
    return sorted[min(max(rank, 1), sorted.count) - 1]
}
