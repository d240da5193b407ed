import Contracts
import FetchCore
import MachineTesting
import Machines
import PushCore
import Records
import Testing
import Timeline
import TransferCore

/// An app without work is suspended at once. The services note its suspension only, and not the background before it.
@Suite struct SuspensionTests {
    private static let key = AggregateKey.device("d")
    private static let start = Instant(milliseconds: 1_750_000_000_000)

    @Test func `fetch has the same state with and without the background`() throws {
        try compare(FetchMachine.self, FetchPolicy(), events: (["app.updated", "app.updated"], ["app.updated"]))
    }

    @Test func `push has the same state with and without the background`() throws {
        try compare(
            PushMachine.self, PushPolicy(partitions: 16),
            events: (["presence.changed", "presence.changed"], ["presence.changed"]))
    }

    @Test func `transfer has the same state with and without the background`() throws {
        try compare(TransferMachine.self, TransferPolicy(), events: (["app.updated", "app.updated"], ["app.updated"]))
    }

    /// Compares the states and the types of events after the same history.
    private func compare<M: Machine>(
        _ machine: M.Type, _ policy: M.Policy, events: (separate: [String], atOnce: [String])
    ) throws {
        let separate = try history(of: machine, policy, suspends: false)
        let atOnce = try history(of: machine, policy, suspends: true)
        #expect(separate.state.binary == atOnce.state.binary)
        #expect(separate.types == events.separate.map { "\(M.name).\($0)" })
        #expect(atOnce.types == events.atOnce.map { "\(M.name).\($0)" })
    }

    /// Returns the state after an app was opened, left and suspended, and the types of the events since it was left.
    private func history<M: Machine>(
        of machine: M.Type, _ policy: M.Policy, suspends: Bool
    ) throws -> (state: M, types: [String]) {
        let runtime = Recorder<M>(policy)
        try runtime.tell(LifecycleEvent.DeviceRegistered(registration: Registration(profile: .ios18)), at: Self.start)
        for app in ["a", "b"] {
            let manifest = Manifest(backgroundModes: [.fetch, .remoteNotification])
            try runtime.tell(LifecycleEvent.AppInstalled(app: app, manifest: manifest), at: Self.start)
        }
        try runtime.tell(LifecycleEvent.AppLaunched(app: "a", callbacks: []), at: Self.start)
        runtime.types = []
        let later = Self.start + .seconds(60)
        var left = LifecycleEvent.AppBackgrounded(app: "a", callbacks: [], cause: .home, taskTime: .seconds(30))
        left.suspends = suspends ? true : nil
        try runtime.tell(left, at: later)
        try runtime.tell(LifecycleEvent.AppSuspended(app: "a"), at: later)
        return (runtime.aggregate.state, runtime.types)
    }

    private final class Recorder<M: Machine> {
        var aggregate = Aggregate<M>(key: SuspensionTests.key)
        var types: [String] = []
        private let policy: M.Policy
        private var slots = SlotAllocator(ceiling: nil)
        private var count = 0

        init(_ policy: M.Policy) { self.policy = policy }

        func tell(_ data: some EventData, at time: Instant) throws {
            count += 1
            let id = DecisionIdentifiers.derived("suspension", String(count))
            let event = Event(
                id: id, source: "lifecycle", type: type(of: data).type, version: 1, key: SuspensionTests.key, app: nil,
                time: time, correlation: id, causation: nil, traceparent: nil, data: data.jsonBytes)
            guard M.follows.contains(event.type) else { return }
            let decided = try aggregate.decide(
                .event(event), Origin(following: event), at: time, policy: policy, slots: &slots)
            types += decided.sealed.map(\.type)
        }
    }
}
