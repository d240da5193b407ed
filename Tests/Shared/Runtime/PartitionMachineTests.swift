import Contracts
import EventLog
import Machines
import Postgres
import TestSupport
import Testing
import Timeline

@testable import Runtime

/// The decisions about one partition's batches: results of steps in, actions out.
@Suite struct PartitionMachineTests {
    /// A result of a step, the time since the last one, and the actions that follow.
    typealias Turn = (event: PartitionMachine<Counter>.Event, after: Duration, actions: String)

    struct Course: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var commands: [Submission<Counter>] = [.add(1, to: "a")]
        var holdsLease = true
        var turns: [Turn]
    }

    private static func on(
        _ event: PartitionMachine<Counter>.Event, _ actions: String, after: Duration = .zero
    ) -> Turn { (event, after, actions) }

    private static func fails(
        _ error: any Error, _ actions: String, isShared: Bool = false, after: Duration = .zero
    ) -> Turn { (.failed(error, isShared: isShared), after, actions) }

    private static var newerEvent: BatchInput<Counter> {
        var input = BatchInput<Counter>.pings()
        input.head = 2
        input.take([.ping(at: 1), .ping(at: 2, version: 2)], [], until: input.now, limit: 200)
        return input
    }

    private static var newerState: BatchInput<Counter> {
        var input = BatchInput<Counter>.pings(2)
        input.faults[.device("p")] = .newerState(key: .device("p"), version: 2)
        input.stopBeforeNewerStates()
        return input
    }

    private static var unread: BatchInput<Counter> {
        var input = BatchInput<Counter>.pings(holdsLease: false)
        input.head = 9
        return input
    }

    private static let decided = on(.gathered(.pings()), "commit 1 at 0")

    static let courses: [Course] = [
        Course(
            testDescription: "a command is decided, committed and answered",
            turns: [decided, on(.committed(head: 1), "adopt, answer ok")]),
        Course(
            testDescription: "events and commands share a batch",
            turns: [on(.gathered(.pings(2)), "commit 3 at 2"), on(.committed(head: 5), "adopt, answer ok")]),
        Course(
            testDescription: "a look without inputs commits nothing", commands: [],
            turns: [on(.gathered(.pings()), "adopt, answer")]),
        Course(
            testDescription: "a lost answer to a commit is found",
            turns: [
                decided, fails(Failures.lost, "forget, settle"),
                on(.settled(.committed(head: 1)), "adopt, answer ok"),
            ]),
        Course(
            testDescription: "a lost commit runs again",
            turns: [
                decided, fails(Failures.lost, "forget, settle"), on(.settled(.notCommitted), "pause 5"),
                on(.resumed, "gather"), decided, on(.committed(head: 1), "adopt, answer ok"),
            ]),
        Course(
            testDescription: "a commit that is lost twice after the patience fails",
            turns: [
                decided, fails(Failures.lost, "forget, settle"),
                on(.settled(.notCommitted), "pause 5", after: .seconds(6)), on(.resumed, "gather"), decided,
                fails(Failures.lost, "forget, settle"),
                on(.settled(.notCommitted), "forget, fail \(RuntimeError.databaseUnavailable)"),
            ]),
        Course(
            testDescription: "an unknown commit is reported as unknown",
            turns: [
                decided, fails(Failures.lost, "forget, settle"),
                on(.settled(.unknown), "forget, fail \(RuntimeError.outcomeUnknown)"),
            ]),
        Course(
            testDescription: "a lost answer to a shared commit is found too",
            turns: [
                decided, fails(Failures.lost, "forget, settle", isShared: true),
                on(.settled(.committed(head: 1)), "adopt, answer ok"),
            ]),
        Course(
            testDescription: "a shared transaction that fails returns the commands",
            turns: [decided, fails(Failures.badData, "forget, put back", isShared: true)]),
        Course(
            testDescription: "a shared transaction that can't begin returns the commands",
            turns: [fails(Failures.away, "forget, put back", isShared: true)]),
        Course(
            testDescription: "a conflict passes",
            turns: [
                decided, fails(Failures.conflict, "forget, pause 5"), on(.resumed, "gather"), decided,
                fails(Failures.conflict, "forget, pause 10"), on(.resumed, "gather"), decided,
                on(.committed(head: 1), "adopt, answer ok"),
            ]),
        Course(
            testDescription: "the patience with an unreachable database ends",
            turns: [
                fails(Failures.away, "forget, pause 5"), on(.resumed, "gather"),
                fails(Failures.away, "forget, fail \(RuntimeError.databaseUnavailable)", after: .seconds(5)),
            ]),
        Course(
            testDescription: "a full disk is no fault of the batch, and the batch fails at once",
            turns: [decided, fails(Failures.fullDisk, "forget, fail \(RuntimeError.databaseUnavailable)")]),
        Course(
            testDescription: "a cursor that another session holds is skipped, then reported after a second",
            turns: [
                on(.skipped, "pause 0"), on(.resumed, "gather"), fails(Failures.lock, "forget, pause 5"),
                on(.resumed, "gather"), fails(Failures.lock, "forget, held up, pause 10", after: .seconds(1)),
                on(.resumed, "gather"), decided, on(.committed(head: 1), "adopt, answer ok"),
            ]),
        Course(
            testDescription: "refused data of a batch with a command and the log is bisected",
            turns: [decided, fails(Failures.badData, "forget, put back")]),
        Course(
            testDescription: "refused data of a single command fails it", holdsLease: false,
            turns: [decided, fails(Failures.badData, "forget, fail \(RuntimeError.failed)")]),
        Course(
            testDescription: "refused data of several commands are bisected",
            commands: [.add(1, to: "a"), .add(1, to: "b")], holdsLease: false,
            turns: [
                on(.gathered(.pings(holdsLease: false)), "commit 2 at 0"),
                fails(Failures.badData, "forget, put back"),
            ]),
        Course(
            testDescription: "a refusal without a cause runs again from the stored states, then may be the database's",
            holdsLease: false,
            turns: [
                decided, fails(Failures.noRights, "forget, pause 5"), on(.resumed, "gather"), decided,
                fails(Failures.noRights, "forget, fail \(RuntimeError.databaseUnavailable)"),
            ]),
        Course(
            testDescription: "data that the first pipeline refuses fail their command", holdsLease: false,
            turns: [fails(Failures.badData.error, "forget, fail \(RuntimeError.failed)")]),
        Course(
            testDescription: "a batch stops before a newer event, and the partition halts", commands: [],
            turns: [on(.gathered(newerEvent), "commit 1 at 1"), on(.committed(head: 3), "adopt, halted, answer")]),
        Course(
            testDescription: "a partition halts before a newer state", commands: [],
            turns: [on(.gathered(newerState), "adopt, halted, answer")]),
        Course(
            testDescription: "a refusal about an aggregate without unread events is final",
            commands: [Submission(.addThenRefuse, to: "a")], holdsLease: false,
            turns: [
                on(.gathered(unread), "unread \(AggregateKey.device("a"))"),
                on(.unreadFound([:]), "adopt, answer refused"),
            ]),
        Course(
            testDescription: "a refusal about an aggregate with unread events is early",
            commands: [Submission(.addThenRefuse, to: "a"), .add(1, to: "b")], holdsLease: false,
            turns: [
                on(.gathered(unread), "unread \(AggregateKey.device("a"))"),
                on(.unreadFound([.device("a"): 7]), "commit 1 at 0"),
                on(.committed(head: 10), "adopt, answer early ok"),
            ]),
        Course(
            testDescription: "a pause that is cancelled ends the batch",
            turns: [
                fails(Failures.away, "forget, pause 5"),
                fails(CancellationError(), "forget, fail \(RuntimeError.databaseUnavailable)"),
            ]),
    ]

    @Test(arguments: courses) func `each result leads to the expected actions`(course: Course) {
        var play = MachinePlay(holdsLease: course.holdsLease)
        #expect(play.begin(course.commands) == "gather")
        for (index, turn) in course.turns.enumerated() {
            #expect(!play.machine.isIdle)
            #expect(play.send(turn.event, after: turn.after) == turn.actions, "result \(index)")
        }
        #expect(play.machine.isIdle)
    }

    // MARK: Groups, leases and looks

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
            #expect(play.send(.committed(head: 2)) == "adopt, answer ok")
            play.machine.lookAgain()
            #expect(play.begin() == nil)
            #expect(play.begin([.add(1, to: "a")]) == "gather")
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

    @Test func `an input with five records is set aside without running`() {
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

    @Test func `bisection ends at one input, which is set aside`() {
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
