import Contracts
import Machines
import Postgres
import TestSupport
import Testing

@testable import Runtime

/// How long commands wait for an unreachable database, and the reason that they get.
@Suite struct OutagePatienceTests {
    private static let unavailable = "forget, fail \(RuntimeError.databaseUnavailable)"

    @Test func `a batch without commands does not wait for an unreachable database`() {
        var play = MachinePlay()
        #expect(play.begin() == "gather")
        #expect(play.send(.failed(Failures.away, isShared: false)) == Self.unavailable)
        #expect(play.machine.isIdle && !play.machine.takesLog)
    }

    @Test func `commands wait for five seconds from the first failure, also of a batch without commands`() {
        var play = MachinePlay()
        _ = play.begin()
        play.send(.failed(Failures.away, isShared: false))
        play.now += .seconds(3)
        #expect(play.begin([.add(1, to: "a")]) == "gather")
        #expect(play.send(.failed(Failures.away, isShared: false)) == "forget, pause 5")
        #expect(play.send(.resumed) == "gather")
        #expect(play.send(.failed(Failures.away, isShared: false), after: .seconds(2)) == Self.unavailable)
        #expect(play.begin([.add(2, to: "a")]) == "gather")
        #expect(play.send(.failed(Failures.away, isShared: false)) == Self.unavailable)
    }

    @Test func `after an outage that the poll saw end, commands wait for five seconds again`() {
        var play = MachinePlay()
        _ = play.begin()
        play.send(.failed(Failures.away, isShared: false))
        play.now += .seconds(10)
        play.machine.reached()
        _ = play.begin([.add(1, to: "a")])
        #expect(play.send(.failed(Failures.away, isShared: false)) == "forget, pause 5")
    }

    @Test(arguments: [(true, RuntimeError.databaseUnavailable), (false, .overloaded)])
    func `a command that waits too long gets the true reason`(isUnreachable: Bool, reason: RuntimeError) async throws {
        let inbox = PartitionInbox<Counter>(partition: 0, budget: StateBudget(1 << 20))
        inbox.set(isUnreachable: isUnreachable)
        let queued = Signal<Void>()
        let waiting = Task { try await inbox.queue.submit(.add(1, to: "a")) { queued.fire(()) } }
        try await queued.value()
        inbox.refuseStale(at: .now + PartitionInbox<Counter>.queuePatience)
        await #expect(throws: reason) { try await waiting.value }
    }
}
