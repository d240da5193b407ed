import Foundation
import NIOHTTP1
import Postgres
import Records
import Synchronization
import TestSupport

/// Measures the answers about devices that a service may not know yet, and about devices that do not exist.
///
/// A client registers a device, installs an app and launches it at `lifecycle`. Then it calls the other services at
/// once, without a `Dormouse-Position`. No service may refuse that. A request about an unknown device must still be
/// refused soon.
public struct KnownDevices: Sendable {
    /// The measurements.
    public struct Figures: Sendable {
        /// Rounds of registering, installing and launching, each followed by three commands.
        public internal(set) var rounds = 0
        public internal(set) var commands = 0
        /// The number of refusals by service, status and code.
        public internal(set) var refusals: [String: Int] = [:]
        /// Seconds from a command right after the launch to its acceptance.
        public internal(set) var atOnce: [Double] = []
        /// Seconds to the 404 of an unknown device.
        public internal(set) var unknown: [Double] = []
        /// Answers about unknown devices other than 404.
        public internal(set) var others: [String: Int] = [:]
        /// Seconds to the acceptance of a command about a device that is known, on an idle suite.
        public internal(set) var accepted: [Double] = []
        /// Microseconds of the services' processor time for each of them.
        public internal(set) var microsecondsPerCommand = 0.0
    }

    /// Processes of each service.
    public var replicas = 2
    public var rounds = 1000
    /// The number of concurrent clients.
    public var clients = 4
    /// The number of commands about unknown devices, and about known ones, for each service.
    public var probes = 300

    public init() {}

    /// Starts a suite, measures, and removes everything.
    ///
    /// - Parameter say: receives each line of progress.
    public func run(say: @escaping @Sendable (String) -> Void) async throws -> Figures {
        let suite = try await AttackedSuite.start(replicas: replicas, isProxied: false)
        let client = AttackClient()
        let result: Result<Figures, any Error>
        do { result = .success(try await measure(suite, client, say)) } catch { result = .failure(error) }
        try? await client.shutdown()
        try await suite.stop()
        return try result.get()
    }

    private final class Book: Sendable {
        let figures = Mutex(Figures())
    }

    private func measure(
        _ suite: AttackedSuite, _ client: AttackClient, _ say: @escaping @Sendable (String) -> Void
    ) async throws -> Figures {
        let book = Book()
        let next = Tally()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<clients {
                group.addTask {
                    while true {
                        let number = next.add()
                        guard number <= rounds else { return }
                        try await round(number, suite, client, book)
                        if number.isMultiple(of: 100) {
                            say(
                                "\(number) rounds, \(book.figures.withLock { $0.refusals.values.reduce(0, +) }) refusals"
                            )
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let scan = try LogScan(suite)
        try await eventually(within: 60, describe: "no consumer lags") { try await scan.laggards().isEmpty }
        await scan.pool.close()
        for number in 0..<probes {
            for (service, call) in Self.commands(of: "nobody-\(number)") {
                let (answer, seconds) = try await timed(call, service, suite, client)
                book.figures.withLock { figures in
                    figures.unknown.append(seconds)
                    if answer.status != 404 {
                        figures.others["\(service) \(answer.status) \(answer.code ?? "")", default: 0] += 1
                    }
                }
            }
        }
        let before = suite.replicas.reduce(0) { $0 + $1.processorSeconds }
        for number in 0..<probes {
            for (service, call) in Self.accepted(number) {
                let (answer, seconds) = try await timed(call, service, suite, client)
                guard answer.isSuccess else { throw AttackFailed("\(call.path): \(answer.status) \(answer.excerpt)") }
                book.figures.withLock { $0.accepted.append(seconds) }
            }
        }
        let after = suite.replicas.reduce(0) { $0 + $1.processorSeconds }
        return book.figures.withLock { figures in
            figures.rounds = rounds
            figures.commands = rounds * 3
            figures.microsecondsPerCommand = (after - before) * 1e6 / Double(figures.accepted.count)
            return figures
        }
    }

    /// Registers a device at one service, and uses it at the others at once.
    private func round(
        _ number: Int, _ suite: AttackedSuite, _ client: AttackClient, _ book: Book
    ) async throws {
        let device = "known-\(number)"
        let lifecycle: [Call] = [
            Call(.PUT, "/v1/devices/\(device)", ["profile": "ios18"]),
            Call(.PUT, "/v1/devices/\(device)/apps/app", ["backgroundModes": ["fetch", "remote-notification"]]),
            Call(.POST, "/v1/devices/\(device)/apps/app/transitions", ["event": "launch"]),
        ]
        for call in lifecycle {
            let (answer, _) = try await timed(call, .lifecycle, suite, client)
            guard answer.isSuccess else { throw AttackFailed("\(call.path): \(answer.status) \(answer.excerpt)") }
        }
        let answers = try await withThrowingTaskGroup(of: (AttackedService, Answer, Double).self) { group in
            for (service, call) in Self.commands(of: device) {
                group.addTask {
                    let (answer, seconds) = try await timed(call, service, suite, client)
                    return (service, answer, seconds)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        book.figures.withLock { figures in
            for (service, answer, seconds) in answers {
                if answer.isSuccess {
                    figures.atOnce.append(seconds)
                } else {
                    figures.refusals["\(service) \(answer.status) \(answer.code ?? "")", default: 0] += 1
                }
            }
        }
    }

    /// One command to each service but `lifecycle`.
    private static func commands(of device: String) -> [(AttackedService, Call)] {
        let app = "/v1/devices/\(device)/apps/app"
        return [
            (.fetch, Call(.PUT, app + "/minimum-interval", ["interval": 3600])),
            (.push, Call(.PUT, app + "/registration", ["environment": "sandbox"])),
            (.transfer, Call(.PUT, app + "/sessions/s", [:])),
        ]
    }

    /// Commands about a device that every service knows. Each of them changes something.
    private static func accepted(_ number: Int) -> [(AttackedService, Call)] {
        let device = "/v1/devices/known-\(1 + number % 16)"
        let isEven = number / 16 % 2 == 0
        let level: JSON = .double(isEven ? 0.5 : 0.75)
        return [
            (.lifecycle, Call(.PATCH, device + "/conditions", ["battery": ["level": level]])),
            (.fetch, Call(.PUT, device + "/apps/app/minimum-interval", ["interval": .int(4000 + number)])),
            (.push, Call(.PUT, device + "/throttle", ["enabled": .bool(!isEven)])),
            (.transfer, Call(.PUT, device + "/apps/app/files/f", body: Array("number \(number)".utf8))),
        ]
    }

    private func timed(
        _ call: Call, _ service: AttackedService, _ suite: AttackedSuite, _ client: AttackClient
    ) async throws -> (Answer, Double) {
        let address = suite.replicas(of: service).randomElement()?.directAddress ?? ""
        let begin = ContinuousClock.now
        let answer = try await client.send(call, to: address, within: 30)
        return (answer, begin.duration(to: .now) / .seconds(1))
    }
}
