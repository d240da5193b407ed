import Machines
import TestSupport
import Testing

@testable import Runtime

/// Commands and events that may end the process, and inputs that fail.
extension PartitionMachineTests {
    // MARK: Commands that may end the process

    @Test func `while a death is recent, a repeatable command leaves its group and is recorded first`() {
        var play = MachinePlay(holdsLease: false)
        play.machine.commandGuard.turn(true, condemned: [])
        let command = Submission<Counter>.repeatable("k")
        _ = play.begin([command])
        #expect(play.send(.gathered(.pings(holdsLease: false))) == "put back")
        _ = play.begin([command])
        #expect(play.send(.gathered(.pings(holdsLease: false))) == "find command:k")
        #expect(play.send(.suspectsFound([])) == "record command:k")
        #expect(play.send(.commandsRecorded(["command:k": 1])) == "gather")
        #expect(play.send(.gathered(.pings(holdsLease: false))) == "commit 1 at 0")
        #expect(play.machine.commandGuard.noted == ["command:k"])
        #expect(play.send(.committed(head: 1)) == "adopt, answer ok")
        #expect(play.machine.commandGuard.noted.isEmpty)
    }

    @Test func `a command whose record failed is recorded before it runs`() {
        var play = guarded()
        play.send(.suspectsFound([]))
        #expect(play.send(.failed(Failures.away, isShared: false)) == "forget, pause 5")
        play.send(.resumed)
        #expect(play.send(.gathered(.pings(holdsLease: false))) == "find command:k")
    }

    @Test func `a command that another process has recorded runs alone, as a trial`() throws {
        var play = guarded()
        #expect(play.send(.suspectsFound(["command:k"])) == "adopt, answer later")
        let next = play.machine.plan(hasCommands: true, nextIsSuspect: true)
        let plan = try #require(next)
        #expect(plan == BatchPlan(commands: 1, log: nil, isTrial: true, isAlone: true))
        play.send(.begin(plan, [.repeatable("k")]))
        #expect(play.send(.gathered(.pings(holdsLease: false))) == "find command:k")
        #expect(play.send(.suspectsFound(["command:k"])) == "record command:k")
    }

    @Test func `a command with five records does not run`() {
        var play = guarded()
        play.send(.suspectsFound([]))
        play.send(.commandsRecorded(["command:k": CommandGuard.tries]))
        #expect(play.send(.gathered(.pings(holdsLease: false))) == "adopt, answer refused")
    }

    /// A batch with a repeatable command that looks for records.
    private func guarded() -> MachinePlay {
        var play = MachinePlay(holdsLease: false)
        play.machine.commandGuard.turn(true, condemned: [])
        play.machine.isAlone = true
        _ = play.begin([.repeatable("k")])
        play.send(.gathered(.pings(holdsLease: false)))
        return play
    }

    // MARK: Trials

    @Test func `an input on trial is recorded once, also if its commit needs two attempts`() {
        var play = MachinePlay(isSuspicious: true)
        _ = play.begin()
        #expect(play.send(.gathered(.pings(1))) == "try event:1")
        #expect(play.send(.trialRecorded(tries: 1)) == "gather")
        #expect(play.send(.gathered(.pings(1))) == "commit 1 at 1")
        play.send(.failed(Failures.conflict, isShared: false))
        play.send(.resumed)
        #expect(play.send(.gathered(.pings(1))) == "commit 1 at 1")
        #expect(play.send(.committed(head: 2)) == "adopt, answer")
        #expect(play.machine.quarantine.trialsLeft == Quarantine.trialLimit - 1 && play.machine.takesLog)
    }

    @Test func `an input that another process has taken after its record is not tried`() {
        var play = MachinePlay(isSuspicious: true)
        _ = play.begin()
        play.send(.gathered(.pings(1)))
        play.send(.trialRecorded(tries: 1))
        #expect(play.send(.gathered(.pings())) == "adopt, answer")
    }

    @Test func `an input with five records becomes a dead letter without running`() {
        var play = MachinePlay(isSuspicious: true)
        _ = play.begin()
        play.send(.gathered(.pings(1)))
        play.send(.trialRecorded(tries: Quarantine.triesOfInput))
        #expect(play.send(.gathered(.pings(1))) == "commit 0 at 1")
        play.send(.committed(head: 1))
        #expect(play.machine.quarantine.condemned.isEmpty)
    }

    @Test func `trials end at the head of the log, and with the lease`() {
        var play = MachinePlay(isSuspicious: true)
        #expect(!play.machine.mayShare)
        _ = play.begin()
        play.send(.gathered(.pings()))
        #expect(play.machine.mayShare)
        play.hold(epoch: 2, isSuspicious: true)
        play.machine.leaseLost()
        #expect(play.machine.mayShare, "commands need no lease")
    }

    // MARK: Inputs that fail

    @Test func `bisection ends at one input, which becomes a dead letter`() {
        var play = MachinePlay()
        var sizes: [Int] = []
        for size in [4, 2, 1] {
            _ = play.begin()
            guard case .gathering(let attempt) = play.machine.phase else { break }
            sizes.append(min(attempt.plan.log ?? 0, 4))
            play.send(.gathered(.pings(size)))
            play.send(.failed(Failures.badData, isShared: false))
        }
        #expect(sizes == [4, 2, 1])
        #expect(play.machine.quarantine.condemned.keys.sorted() == ["event:1"])
        _ = play.begin()
        #expect(play.send(.gathered(.pings(1))) == "commit 0 at 1")
    }

    @Test func `an input without proof of its fault is passed only if one behind it succeeds`() {
        var play = MachinePlay()
        // At first commands could be at fault, then the input is alone.
        for _ in 0..<2 {
            _ = play.begin()
            for _ in 0..<2 {
                play.send(.gathered(.pings(1)))
                play.send(.failed(Failures.noRights, isShared: false))
                play.send(.resumed)
            }
        }
        #expect(play.machine.quarantine.failing?.name == "event:1")
        play.machine.look(now: play.now + Quarantine.pause)
        _ = play.begin()
        #expect(play.send(.gathered(.pings(1))) == "forget, put back", "nothing behind it succeeds")
        play.machine.look(now: play.now + Quarantine.pause + Quarantine.pause)
        _ = play.begin()
        #expect(play.send(.gathered(.pings(1))) == "commit 1 at 1", "it is tried again")
        play.send(.committed(head: 2))
        #expect(play.machine.quarantine.failing == nil)
    }
}
