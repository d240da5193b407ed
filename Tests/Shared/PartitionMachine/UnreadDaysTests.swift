import Contracts
import EventLog
import Machines
import Records
import TestSupport
import Testing
import Timeline

@testable import Postgres
@testable import Runtime

/// Batches open only the tables of days that can have unread events.
@Suite struct UnreadDaysTests {
    private func atHead(_ day: Int) -> BatchInput<Counter> {
        var input = BatchInput<Counter>.pings()
        input.day = day
        input.head = 7
        return input
    }

    @Test func `the bounds are unknown until a batch has read the log to its head`() {
        var play = MachinePlay()
        #expect(play.machine.days == UnreadDays())
        _ = play.begin()
        play.send(.gathered(atHead(9460)))
        #expect(play.machine.days == UnreadDays(first: 9460, firstHead: 7, last: 9460))
    }

    @Test func `a batch without the log, or one that fails, does not move the first day`() {
        var play = MachinePlay()
        _ = play.begin()
        play.send(.gathered(atHead(9460)))
        _ = play.begin([.add(1, to: "a")])
        var commands = BatchInput<Counter>.pings(holdsLease: false)
        commands.day = 9461
        play.send(.gathered(commands))
        play.send(.committed(head: 1))
        #expect(play.machine.days == UnreadDays(first: 9460, firstHead: 7, last: 9461))
        play.machine.look(now: play.now)
        _ = play.begin()
        var events = BatchInput<Counter>.pings(1)
        events.day = 9462
        play.send(.gathered(events))
        play.send(.failed(Failures.fullDisk, isShared: false))
        #expect(play.machine.days == UnreadDays(first: 9460, firstHead: 7, last: 9462))
    }

    @Test(arguments: [(7, 9460, true), (9, 9461, true), (6, 9460, false), (7, 9462, false), (9, 9459, false)])
    func `the bounds count only for a cursor at the known head or after it, and for known days`(
        position: Int, day: Int, isIncluded: Bool
    ) {
        let days = UnreadDays(first: 9460, firstHead: 7, last: 9461)
        #expect(days.include(everythingAfter: position, upTo: day) == isIncluded)
        #expect(UnreadDays().include(everythingAfter: position, upTo: day))
    }

    @Test func `several partitions have the earliest first and the latest last day, or an unknown one`() {
        let known = [UnreadDays(first: 3, last: 4), UnreadDays(first: 2, last: 5)]
        #expect(UnreadDays.union(known) == UnreadDays(first: 2, last: 5))
        #expect(UnreadDays.union(known + [UnreadDays(first: nil, last: 9)]) == UnreadDays(first: nil, last: 9))
        #expect(UnreadDays.union(known + [UnreadDays(first: 1, last: nil)]) == UnreadDays(first: 1, last: nil))
    }
}
