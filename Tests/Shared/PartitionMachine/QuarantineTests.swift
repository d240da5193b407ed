import Contracts
import Machines
import Postgres
import TestSupport
import Testing
import Timeline

@testable import Runtime

/// The protection against inputs that fail, and the reading of a batch's inputs.
@Suite struct QuarantineTests {
    private let now = ContinuousClock.now

    private func refusal(of inputs: Int, name: String? = nil, isProven: Bool = true) -> BadInput {
        BadInput(inputs: inputs, name: name, error: Failures.badData.error, isProven: isProven)
    }

    @Test func `a normal batch takes commands and the log up to their limits`() {
        var quarantine = Quarantine(now: now)
        #expect(quarantine.plan(hasCommands: true, takesLog: true) == BatchPlan(commands: 500, log: 200))
        #expect(quarantine.plan(hasCommands: true, takesLog: false) == BatchPlan(commands: 500, log: nil))
        #expect(quarantine.plan(hasCommands: false, takesLog: false) == nil)
    }

    @Test func `during bisection the log and the commands alternate, and successes double the batch`() {
        var quarantine = Quarantine(now: now)
        let plan = BatchPlan(commands: 500, log: 200)
        #expect(quarantine.refused(refusal(of: 9), plan, commands: 5, now: now) == .again(looksAgain: true))
        let plans = (0..<4).compactMap { _ in quarantine.plan(hasCommands: true, takesLog: true) }
        let (logs, commands) = (plans.map(\.log), plans.map(\.commands))
        #expect(logs == [4, nil, 4, nil] && commands == [0, 4, 0, 4])
        for plan in plans { #expect(plan.isAlone) }
        var successes = 0
        while !quarantine.isNormal, successes < 20 {
            for plan in plans.prefix(2) {
                _ = quarantine.committed(plan, hasData: true, isThrough: false, now: now)
            }
            successes += 1
        }
        // 8, 16, 32, 64, 128, 256, 512, no limit.
        #expect(successes == 8)
    }

    @Test func `commands that succeed meanwhile do not widen the batches of the log`() {
        var quarantine = Quarantine(now: now)
        var plan = BatchPlan(commands: 0, log: 200)
        var refusals = 0
        // The first of 100 events is at fault.
        while let limit = plan.log, limit > 1, refusals < 20 {
            _ = quarantine.refused(refusal(of: min(limit, 100)), plan, commands: 0, now: now)
            refusals += 1
            plan = quarantine.plan(hasCommands: true, takesLog: true) ?? plan
            guard let commands = quarantine.plan(hasCommands: true, takesLog: true) else { continue }
            #expect(commands.log == nil && commands.commands == 500)
            _ = quarantine.committed(commands, hasData: true, isThrough: true, now: now)
        }
        // 50, 25, 12, 6, 3, 1.
        #expect(refusals == 6)
    }

    @Test(arguments: [(false, false, true), (true, false, false), (false, true, false)])
    func `a command alone fails by its own fault only with proof`(
        isProven: Bool, hasCommit: Bool, isDatabase: Bool
    ) {
        var quarantine = Quarantine(now: now)
        let plan = BatchPlan(commands: 1, log: nil)
        // An earlier refusal, then perhaps a success of another batch.
        _ = quarantine.refused(
            refusal(of: 4, isProven: false), BatchPlan(commands: 4, log: nil), commands: 4, now: now)
        if hasCommit { _ = quarantine.committed(plan, hasData: true, isThrough: true, now: now + .seconds(1)) }
        let end = quarantine.refused(refusal(of: 1, isProven: isProven), plan, commands: 1, now: now + .seconds(2))
        #expect(end == .failCommand(isDatabase ? .databaseUnavailable : .failed))
    }

    @Test func `trials take one input at a time and end after their limit`() {
        var quarantine = Quarantine(now: now)
        quarantine.begin(isSuspicious: true)
        var tried = 0
        while let plan = quarantine.plan(hasCommands: false, takesLog: true), plan.isTrial, tried < 1000 {
            #expect(plan.log == 1 && plan.isAlone)
            _ = quarantine.committed(plan, hasData: true, isThrough: false, now: now)
            tried += 1
        }
        #expect(tried == Quarantine.trialLimit && quarantine.isNormal)
    }

    @Test(arguments: [
        (events: 0, head: 0, limit: 3, position: 0, isAtHead: true, hasMore: false),
        (events: 2, head: 2, limit: 3, position: 2, isAtHead: true, hasMore: false),
        (events: 2, head: 9, limit: 3, position: 9, isAtHead: true, hasMore: false),
        (events: 3, head: 9, limit: 3, position: 3, isAtHead: false, hasMore: true),
    ])
    func `a batch is at the head if it has fewer events than its limit`(
        events: Int, head: Int, limit: Int, position: Int, isAtHead: Bool, hasMore: Bool
    ) {
        var input = BatchInput<Counter>()
        input.head = head
        input.take((0..<events).map { .ping(at: $0 + 1) }, [], until: input.now, limit: limit)
        #expect(input.position == position && input.isAtHead == isAtHead && input.hasMore == hasMore)
    }

    @Test func `due deadlines are taken up to the limit, and the next one is known`() {
        func input(due times: [Int64], until: Int64 = 20) -> BatchInput<Counter> {
            var input = BatchInput<Counter>()
            input.now = Instant(milliseconds: 10)
            input.take(
                [], times.map { (.device("d\($0)"), Instant(milliseconds: $0)) }, until: Instant(milliseconds: until),
                limit: 2)
            return input
        }
        #expect(input(due: [1, 30]).due == [.device("d1")] && input(due: [1, 30]).nextDue?.milliseconds == 30)
        #expect(input(due: [1, 2, 3]).due.count == 2 && input(due: [1, 2, 3]).hasMore)
        #expect(input(due: [1, 9], until: 5).hasMore, "the clock is ahead of the time that was read")
        #expect(!input(due: [1]).hasMore)
    }
}
