import Contracts
import FleetService
import Scenarios
import Simulation
import Synchronization
import Timeline

/// Collects the events and the pushes of a run for its report.
final class LogRecorder: ScenarioRecorder {
    private struct State {
        var report: LogReport?
        /// The latest events, each with the time at which it was read.
        var waiting: [(events: [Event], at: ContinuousClock.Instant)] = []
        var unreadable = 0
    }

    private let state = Mutex(State())

    /// The events of a push may be read before its request is answered. They wait for this time.
    private static let patience = Duration.seconds(20)

    func begin(_ plan: ScenarioPlan, names: [String]) {
        state.withLock { $0.report = LogReport(plan, names: names) }
    }

    func sent(_ push: RecordedPush) {
        state.withLock { state in
            switch push.fate {
            case .accepted(let notification):
                state.report?.addAccepted(
                    notification, to: push.device, item: push.item, at: push.sentAt, isCopy: push.isCopy)
            case .refused(let reason): state.report?.addRefused(reason, item: push.item, isCopy: push.isCopy)
            case .withoutToken: if !push.isCopy { state.report?.addWithoutToken(item: push.item) }
            }
        }
    }

    func took(_ events: [Event]) {
        state.withLock { state in
            if !events.isEmpty { state.waiting.append((events, .now)) }
            Self.take(&state, until: .now - Self.patience)
        }
    }

    func loaded(_ bytes: Int, in network: NetworkText) {
        state.withLock { $0.report?.addBytes(bytes, in: network) }
    }

    /// Returns the report; nil if the run did not begin.
    func report(until end: Instant, endReason: String?, refusals: [String: Int]) -> SimulationReport? {
        state.withLock { state in
            Self.take(&state, until: .now + .seconds(1))
            state.report?.addRefusedCalls(refusals)
            return state.report?.report(until: end, endReason: endReason)
        }
    }

    private static func take(_ state: inout State, until time: ContinuousClock.Instant) {
        let due = state.waiting.prefix { $0.at < time }
        for event in due.flatMap(\.events) {
            do { try state.report?.add(event) } catch { state.unreadable += 1 }
        }
        state.waiting.removeFirst(due.count)
    }
}
