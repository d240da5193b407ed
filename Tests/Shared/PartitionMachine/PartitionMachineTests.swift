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
}
