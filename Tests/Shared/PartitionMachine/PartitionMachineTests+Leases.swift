import Machines
import TestSupport
import Testing

@testable import Runtime

/// Shared transactions, leases and reads of the log.
extension PartitionMachineTests {
    @Test func `after a failed shared transaction one batch runs alone, and reads the log again`() throws {
        var play = MachinePlay()
        _ = play.begin([.add(1, to: "a")])
        play.send(.failed(Failures.away, isShared: true))
        #expect(!play.machine.mayShare && play.machine.takesLog)
        let next = play.machine.plan(hasCommands: true, nextIsSuspect: false)
        let plan = try #require(next)
        #expect(plan.isAlone && plan.log != nil)
        play.send(.begin(plan, []))
        play.send(.gathered(.pings()))
        #expect(play.machine.mayShare)
    }

    @Test func `a look during a batch is not lost`() {
        var play = MachinePlay()
        _ = play.begin()
        #expect(!play.machine.takesLog)
        play.machine.look(now: play.now)
        play.send(.gathered(.pings()))
        #expect(play.machine.takesLog)
    }

    @Test func `a partition that gave up leaves the next look to the poll`() {
        var play = MachinePlay()
        _ = play.begin()
        play.send(.gathered(.pings(1)))
        play.send(.failed(Failures.fullDisk, isShared: false))
        play.machine.look(now: play.now)
        #expect(!play.machine.takesLog)
        play.machine.look(now: play.now + Quarantine.pause)
        #expect(play.machine.takesLog)
    }

    @Test func `a new lease reads the log even soon after a failure`() {
        var play = MachinePlay()
        _ = play.begin()
        play.send(.gathered(.pings(1)))
        play.send(.failed(Failures.fullDisk, isShared: false))
        play.machine.leaseLost()
        play.hold(epoch: 2)
        #expect(play.machine.takesLog)
    }

    @Test func `a batch commits without an epoch if the lease is lost in the middle`() {
        var play = MachinePlay()
        _ = play.begin([.add(1, to: "a")])
        play.machine.leaseLost()
        #expect(play.send(.gathered(.pings(1))) == "commit 2 at 1")
        guard case .committing = play.machine.phase else {
            Issue.record("it does not commit")
            return
        }
        #expect(play.send(.committed(head: 3)) == "adopt, answer ok")
        #expect(!play.machine.takesLog)
    }

    @Test func `a stopping partition finishes its batch and reads no more`() {
        for events in [[], [PartitionMachine<Counter>.Event.gathered(.pings(1))]] {
            var play = MachinePlay()
            _ = play.begin([.add(1, to: "a")])
            for event in events { play.send(event) }
            play.machine.isStopping = true
            if events.isEmpty { play.send(.gathered(.pings(1))) }
            #expect(play.send(.committed(head: 3)) == "adopt, answer ok")
            play.machine.lookAgain()
            #expect(play.begin() == nil)
            #expect(play.begin([.add(1, to: "a")]) == "assume")
        }
    }

    @Test func `a held cursor is reported also while commands get only one attempt`() {
        var play = MachinePlay(holdsLease: false)
        _ = play.begin([.add(1, to: "a")])
        play.send(.failed(Failures.lock, isShared: false))
        play.send(.resumed)
        #expect(play.send(.failed(Failures.lock, isShared: false), after: .seconds(5)).hasPrefix("held up"))
        _ = play.begin([.add(1, to: "a")])
        let actions = play.send(.failed(Failures.lock, isShared: false), after: .seconds(1))
        #expect(actions == "held up, forget, fail \(RuntimeError.databaseUnavailable)")
    }

    @Test func `nothing of a failed batch stays known`() {
        var play = MachinePlay()
        _ = play.begin([.add(1, to: "a")])
        play.send(.gathered(.pings()))
        play.send(.committed(head: 1))
        #expect(play.machine.lastBatch != nil)
        _ = play.begin([.add(1, to: "a")])
        play.send(.gathered(.pings()))
        play.send(.failed(Failures.lost, isShared: false))
        #expect(play.machine.lastBatch == nil && play.machine.slots == nil)
    }
}
