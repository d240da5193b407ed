public import Logging
import Records
public import ServiceLifecycle
import Synchronization
public import Telemetry

/// Runs the health checks every second in the background, and keeps the verdict for `/readyz`.
public final class Readiness: Service {
    /// The verdict that `/readyz` returns.
    struct Verdict: Sendable {
        var isReady: Bool
        /// The names of all checks in order, each with its fault; nil for a check that passed.
        var results: [(name: String, fault: String?)]
        /// The reason why the service is not ready.
        var reason: String

        var faults: [FieldError] {
            results.compactMap { result in
                result.fault.map { FieldError(pointer: "/\(result.name)", detail: $0) }
            }
        }

        var json: JSON {
            let checks = results.map { JSON.Member($0.name, .string($0.fault == nil ? "ok" : "failing")) }
            var members = [JSON.Member("status", "ready"), JSON.Member("checks", .object(checks))]
            if !faults.isEmpty {
                members.append(
                    JSON.Member(
                        "errors",
                        .array(faults.map { ["pointer": .string($0.pointer), "detail": .string($0.detail)] })))
            }
            return .object(members)
        }
    }

    private struct State {
        var checks: [HealthCheck]
        var verdict: Verdict
        var judgedAt = ContinuousClock.now
        /// Whether all conditions have held at the same time once.
        var wasGood = false
        var isDraining = false
    }

    private static let interval = Duration.seconds(1)
    /// The interval until the service is ready for the first time, so that a start is quick.
    private static let firstInterval = Duration.milliseconds(50)
    /// The age of a verdict after which the process counts as stuck.
    private static let patience = Duration.seconds(15)

    private let metrics: Metrics
    private let logger: Logger
    private let state: Mutex<State>
    /// Ends when the process is ready for the first time.
    private let start = AsyncStream<Never>.makeStream()

    /// Creates a readiness that is false until the first verdict.
    public init(_ checks: [HealthCheck] = [], metrics: Metrics, logger: Logger) {
        self.metrics = metrics
        self.logger = logger
        state = Mutex(
            State(checks: checks, verdict: Verdict(isReady: false, results: [], reason: "the service is starting")))
    }

    /// Adds a check at the end.
    public func add(_ check: HealthCheck) { state.withLock { $0.checks.append(check) } }

    /// Whether this process should get requests.
    public var isReady: Bool { verdict.isReady }

    /// The last verdict, unless the process is draining or the verdict is too old.
    var verdict: Verdict {
        state.withLock { state in
            var verdict = state.verdict
            if state.isDraining {
                verdict.isReady = false
                verdict.reason = "the service is shutting down"
            } else if verdict.isReady, state.judgedAt.duration(to: .now) > Self.patience {
                verdict.isReady = false
                verdict.reason = "the health checks have not finished for 15 s"
            }
            return verdict
        }
    }

    /// Waits until the process is ready for the first time, or until the task is cancelled. One task may wait.
    func becomesReady() async { for await _ in start.stream {} }

    /// Makes the process permanently not ready, before it ends.
    public func drain() { state.withLock { $0.isDraining = true } }

    /// Runs every check now and keeps the verdict.
    public func judge() async {
        let checks = state.withLock(\.checks)
        var faults: [String?] = []
        for check in checks { faults.append(await check.fault()) }
        let results = zip(checks, faults).map { (name: $0.name, fault: $1) }
        let before = state.withLock { state in
            let before = state.verdict.results
            let isGood = zip(checks, faults).allSatisfy { $0.consequence == .reported || $1 == nil }
            state.wasGood = state.wasGood || isGood
            let wasGood = state.wasGood
            let blocking = zip(checks, faults).compactMap { check, fault in
                switch check.consequence {
                case .notReady: fault
                case .notReadyAtStart: wasGood ? nil : fault
                case .reported: nil
                }
            }
            state.verdict = Verdict(
                isReady: blocking.isEmpty, results: results, reason: blocking.joined(separator: "; "))
            state.judgedAt = .now
            return before
        }
        tell(results, after: before)
        if isReady { start.continuation.finish() }
    }

    /// Runs until graceful shutdown or cancellation.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await self.judge()
                let wasGood = self.state.withLock { $0.wasGood }
                try? await Task.sleep(for: wasGood ? Self.interval : Self.firstInterval)
            }
        }
    }

    /// Logs each change of a check. Failures before the first good verdict are normal and not logged.
    private func tell(_ results: [(name: String, fault: String?)], after before: [(name: String, fault: String?)]) {
        for (index, result) in results.enumerated() {
            metrics.set(.checkFailing, to: result.fault == nil ? 0 : 1, ["check": result.name])
            let hadFault = before.indices.contains(index) && before[index].fault != nil
            guard hadFault != (result.fault != nil), state.withLock({ $0.wasGood }) else { continue }
            if let fault = result.fault {
                logger.error(
                    "failed health check", metadata: [LogKey.check: "\(result.name)", LogKey.error: "\(fault)"])
            } else {
                logger.notice("passed health check again", metadata: [LogKey.check: "\(result.name)"])
            }
        }
    }
}

/// Announces a shutdown to load balancers before the server stops.
///
/// It shuts down first. Requests are still answered until it ends.
struct Drain: Service {
    let readiness: Readiness
    let duration: Duration

    func run() async throws {
        try? await gracefulShutdown()
        readiness.drain()
        try? await Task.sleep(for: duration)
    }
}

/// Tells once that the service is ready. Its server may listen before that.
struct Announcement: Service {
    /// Has the port of the server as soon as it listens.
    let ports: AsyncStream<Int>
    let readiness: Readiness?
    let tell: @Sendable (_ port: Int) -> Void

    func run() async throws {
        await cancelWhenGracefulShutdown {
            for await port in ports {
                await readiness?.becomesReady()
                if !Task.isCancelled { tell(port) }
            }
        }
        // A service that ends would end the group.
        try? await gracefulShutdown()
    }
}
