import Machines
import Synchronization
import TestSupport
import Testing
import Timeline

@testable import Runtime

/// The check of deadlines: it sleeps until one is due, and no earlier deadline is missed.
@Suite struct DeadlineAlarmTests {
    /// Counts the rings of an alarm.
    private struct Counted {
        let alarm = DeadlineAlarm()
        let rings = Tally()
        let reader: Task<Void, Never>

        init() {
            let (alarm, rings) = (alarm, rings)
            reader = Task { for await _ in alarm.rings { rings.add() } }
        }

        /// Gives a wrong ring the time to be counted.
        func hasRung(_ times: Int) async -> Bool {
            for _ in 0..<1000 { await Task.yield() }
            return rings.count == times
        }
    }

    @Test func `only a deadline before all known ones rings`() async throws {
        let counted = Counted()
        let (alarm, rings) = (counted.alarm, counted.rings)
        let inboxes = (0..<3).map {
            PartitionInbox<Counter>(partition: $0, budget: StateBudget(1 << 20), alarm: alarm)
        }
        func earliest() -> Int64 {
            alarm.earliest { inboxes.map(\.nextDue).min() ?? .max }
        }
        inboxes[0].set(nextDue: Instant(milliseconds: 500))
        try await rings.reaches(1)
        let first = earliest()
        #expect(first == 500)
        inboxes[1].set(nextDue: Instant(milliseconds: 500))
        inboxes[2].set(nextDue: Instant(milliseconds: 900))
        inboxes[2].set(nextDue: nil)
        #expect(await counted.hasRung(1))
        inboxes[2].set(nextDue: Instant(milliseconds: 499))
        try await rings.reaches(2)
        let second = earliest()
        #expect(second == 499)
        counted.reader.cancel()
    }

    @Test func `a deadline that is set during the check rings, even if it is later than the known one`() async throws {
        let counted = Counted()
        let alarm = counted.alarm
        let known = alarm.earliest { 100 }
        #expect(known == 100)
        _ = alarm.earliest {
            // The check has read this partition already.
            alarm.note(200)
            return .max
        }
        try await counted.rings.reaches(1)
        counted.reader.cancel()
    }

    @Test func `events to skip ring once`() async throws {
        let counted = Counted()
        let inbox = PartitionInbox<Counter>(partition: 0, budget: StateBudget(1 << 20), alarm: counted.alarm)
        let now = ContinuousClock.now
        inbox.looked(at: now)
        var isDue = inbox.hear(isOfInterest: false, at: now)
        #expect(!isDue)
        try await counted.rings.reaches(1)
        isDue = inbox.hear(isOfInterest: false, at: now)
        #expect(!isDue && inbox.hasSkips)
        #expect(await counted.hasRung(1))
        let takes = inbox.takesSkips()
        #expect(takes && !inbox.hasSkips)
        counted.reader.cancel()
    }

    @Test func `the next sleep ends at the first of the poll, the deadline and the skip`() {
        let start = ContinuousClock.now
        var plan = TickPlan(poll: .milliseconds(500), glance: .milliseconds(100), now: start)
        func after(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }
        // The macro can't call a mutating function.
        func steps(_ milliseconds: Int) -> [Bool] {
            let begins = plan.begins(at: after(milliseconds))
            let polls = plan.isPollDue(at: after(milliseconds))
            if polls { plan.polled(at: after(milliseconds)) }
            return [begins, polls, plan.glances(at: after(milliseconds))]
        }
        func sleep(_ milliseconds: Int, _ wait: Duration?, hasSkips: Bool = false) -> ContinuousClock.Instant? {
            plan.sleep(at: after(milliseconds), wait: wait, hasSkips: hasSkips)
        }
        #expect(steps(0) == [true, true, true])
        #expect(sleep(0, nil) == after(500))
        #expect(sleep(0, .seconds(60)) == nil)
        // A ring too early sleeps until a check may begin.
        #expect(steps(3) == [false, false, false])
        #expect(sleep(3, .zero) == after(10))
        #expect(steps(10) == [true, false, false])
        #expect(sleep(10, .milliseconds(250), hasSkips: true) == after(100))
        #expect(steps(100) == [true, false, true])
        #expect(sleep(100, .milliseconds(160)) == after(260))
        // A deadline in the past is checked again soon.
        #expect(steps(260) == [true, false, true])
        #expect(sleep(260, .milliseconds(-5)) == after(270))
        #expect(steps(500) == [true, true, true])
    }

    @Test func `a poll that waits for a database does not follow another without a pause`() {
        let start = ContinuousClock.now
        var plan = TickPlan(poll: .milliseconds(500), glance: .milliseconds(100), now: start)
        #expect(plan.isPollDue(at: start))
        let end = start + .milliseconds(700)
        plan.polled(at: end)
        #expect(!plan.isPollDue(at: end))
        let wake = plan.sleep(at: end, wait: nil, hasSkips: false)
        #expect(wake == end + .milliseconds(500))
    }
}
