import ArgumentParser
import Foundation

/// `benchmarks peers`: latencies beside stores, queues and brokers, in one run on this machine.
struct Peers: AsyncParsableCommand {
    enum Subject: String, CaseIterable, ExpressibleByArgument { case handled, delivery }

    static let configuration = CommandConfiguration(
        commandName: "peers",
        abstract: "Measures the latency of the log and of push beside Redis, pgqueuer, pgbench and mosquitto.",
        discussion:
            """
            `handled` appends events, and measures the time from the client that appends to the decision that follows, \
            at 1,000 and at 5,000 events a second. `delivery` sends notifications, and measures the time from the \
            provider to the connected device, at 1,000 a second. Each peer flushes what its line says. All use the \
            same processors, one after another.

            Needs PostgreSQL's programs, pgbench among them, redis-server, mosquitto and mosquitto-clients, and Python \
            with venv for pgqueuer from PyPI. A peer that is missing is named and left out.
            """)

    @Argument(help: "The subjects: \(Subject.allCases.map(\.rawValue).joined(separator: ", ")); all by default.")
    var subjects: [Subject] = Subject.allCases

    @Option(help: "The duration of each measurement in seconds.")
    var seconds = 10

    @Option(help: "The number of devices connected to push.")
    var devices = 2000

    func validate() throws {
        guard (1...600).contains(seconds) else { throw ValidationError("--seconds must be from 1 to 600") }
        guard (100...20_000).contains(devices) else { throw ValidationError("--devices must be from 100 to 20000") }
    }

    func run() async throws {
        for subject in subjects {
            switch subject {
            case .handled:
                for rate in [1000, 5000] { try await compareHandled(Pace(rate: rate, seconds: seconds)) }
            case .delivery: try await compareDelivery(Pace(rate: 1000, seconds: seconds))
            }
        }
    }

    private func compareHandled(_ pace: Pace) async throws {
        Report.heading("From an append to what follows, \(pace.rate) events a second in batches of \(pace.batch)")
        let own = try await AppendToHandled(pace: pace).measure()
        let ours = Latencies(own.sent, "each commit, to the disk (synchronous_commit on)")
        ours.print("Dormouse")
        try await compare("Redis Streams", with: ours) {
            Latencies(try await RedisPeer(pace: pace).measure(), "each answer, to the disk (appendfsync always)")
        }
        try await compare("pgqueuer", with: ours) {
            Latencies(try await PgqueuerPeer(pace: pace).measure(), "each commit, to the disk (synchronous_commit on)")
        }
        guard pace.rate == 1000 else { return }
        try await compare("pgbench, insert and NOTIFY only", with: ours) {
            Latencies(try await PgbenchPeer(pace: pace).measure(), "each commit, to the disk; nothing follows")
        }
    }

    private func compareDelivery(_ pace: Pace) async throws {
        Report.heading("From a provider to a connected device, \(pace.rate) notifications a second")
        let own = try await ConnectedDevices(devices: devices, pace: pace).measure()
        let ours = Latencies(own.sent, "each accepted notification, to the disk; \(devices) devices")
        ours.print("Dormouse, sent to device")
        Latencies(own.accepted, "").print("Dormouse, accepted to device")
        try await compare("mosquitto, QoS 1", with: ours) {
            Latencies(
                try await MosquittoPeer(pace: pace).measure(),
                "its file after each 1,000 changes, not each message; \(MosquittoPeer.clients) devices")
        }
    }

    /// Measures and prints a peer, and says which of both is ahead. Names a peer that can't run here.
    private func compare(
        _ name: String, with ours: Latencies, _ measure: () async throws -> Latencies
    ) async throws {
        do {
            let theirs = try await measure()
            theirs.print(name)
            for (share, label) in [(0.5, "p50"), (0.99, "p99")] {
                let (own, other) = (ours.percentile(share), theirs.percentile(share))
                Report.line("    \(label): \(own <= other ? "Dormouse" : name) is ahead")
            }
        } catch let missing as ToolMissing { Report.line("  \(name): \(missing)") }
    }
}

/// A peer is not installed.
struct ToolMissing: Error, CustomStringConvertible {
    let description: String

    /// - Parameter package: the Debian package of the program.
    static func path(of program: String, package: String) throws(ToolMissing) -> String {
        let paths = ["/usr/bin", "/usr/sbin", "/usr/local/bin"].map { "\($0)/\(program)" }
        guard let path = paths.first(where: FileManager.default.isExecutableFile) else {
            throw ToolMissing(description: "\(program) is not installed: apt-get install \(package)")
        }
        return path
    }
}

/// A steady load: the same number of events each 10 ms.
struct Pace {
    /// Events a second, a multiple of 100.
    let rate: Int
    let seconds: Int

    var batch: Int { rate / 100 }
    var rounds: Int { seconds * 100 }
    var total: Int { rounds * batch }

    /// Waits until a round is due.
    func wait(for round: Int, since start: ContinuousClock.Instant) async throws {
        try await Task.sleep(until: start + .milliseconds(round * 10))
    }
}

/// Times from a cause to its effect, in milliseconds.
struct Latencies {
    private let sorted: [Double]
    /// Names the writes that reach the disk, and their moment.
    private let durability: String

    init(_ values: [Double], _ durability: String) {
        sorted = values.sorted()
        self.durability = durability
    }

    func percentile(_ share: Double) -> Double { Benchmarks.percentile(of: sorted, share) }

    func print(_ name: String) {
        let figures = String(format: "p50 %7.2f ms  p99 %7.2f ms", percentile(0.5), percentile(0.99))
        let flushes = durability.isEmpty ? "" : "  flushes \(durability)"
        Report.line("  \(name.padding(toLength: 32, withPad: " ", startingAt: 0)) \(figures)\(flushes)")
    }
}

/// The time since 1970 in milliseconds, as all processes of this machine see it.
func wallMilliseconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Double(time.tv_sec) * 1000 + Double(time.tv_nsec) / 1e6
}
