import Contracts
import HTTPKit
import HTTPTypes
import Hummingbird
import Machines
import Records
import ServiceKit
import TestSupport
import Timeline

/// The counter of another release: the same log and HTTP interface, with other type names.
struct RenamedCounter: Machine, Equatable {
    enum Command: Sendable { case increase(by: Int, isNew: Bool) }

    typealias OwnEvent = CounterEvent
    typealias Refusal = Counter.Refusal
    typealias Policy = Void

    static let version = 1
    static let follows = Counter.follows

    var counter: Flattened<Counter> = Counter()

    var nextDeadline: Instant? { counter.nextDeadline }

    static func decide(_ input: Input<Command>, _ decision: inout Decision<RenamedCounter>) throws(Refusal) {
        guard case .command(.increase(let amount, _)) = input else { return }
        decision.emit(.added(Added(amount: amount, mark: "")))
    }

    mutating func apply(_ event: CounterEvent, at time: Instant) { counter.apply(event, at: time) }
}

extension CounterService {
    /// Serves the route that adds, with a machine of another release.
    func serve(_: RenamedCounter.Type) async throws {
        try await TestedMachine<RenamedCounter>().serve(
            configuration, policy: (), tokenIssuer: "counter", logger: logger
        ) { parts, table in
            table.add(.post, "/v1/devices/{device}/add", "Adds", body: Amount.self) { amount, call in
                try await parts.commands.submit(
                    .increase(by: amount.amount, isNew: true), call, registers: true
                ) { aggregate, _ in aggregate.state.counter }
            }
            return []
        }
    }
}
