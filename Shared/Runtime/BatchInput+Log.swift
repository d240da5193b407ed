import Contracts
import EventLog
import Machines
import Postgres
import Timeline

extension BatchInput {
    /// Takes the events behind the cursor, and the deadlines if the log was read to its head.
    ///
    /// - Parameters:
    ///   - deadlines: those up to a time, at most one more than the limit, and the first one after it.
    ///   - until: that time.
    mutating func take(
        _ read: [Event], _ deadlines: [(key: AggregateKey, due: Instant)], until: Instant, limit: Int
    ) {
        for event in read {
            if let reason = Self.tooNew(event) {
                halt = Halt(reason: reason, isOfState: false)
                position = max(position, event.offset - 1)
                return
            }
            events.append(event)
        }
        let bound = position + LogReader.scanLimit
        let isThrough = events.count < limit
        // The head was read before the events, so the last event may have a higher offset. Commits follow the order of
        // offsets, so no earlier event is missing.
        let isAtHead = isThrough && head <= bound
        position = max(position, isThrough ? min(head, bound) : 0, events.last?.offset ?? 0)
        guard isAtHead else {
            hasMore = true
            return
        }
        self.isAtHead = true
        for (key, due) in deadlines {
            guard due <= now else {
                nextDue = due
                break
            }
            self.due.append(key)
        }
        // The clock may be far ahead of this process, as after a step of virtual time. Then there may be more.
        hasMore = due.count > limit || deadlines.last.map { until < $0.due && $0.due <= now } ?? false
        due = Array(due.prefix(limit))
    }
}

extension SlotAllocator {
    /// Returns an allocator with stored reservations.
    func restored(_ rows: Rows) throws -> SlotAllocator {
        var slots = self
        for (page, taken) in try rows.decode((Int, [UInt8]).self) {
            guard slots.restore(Int64(page), taken) else { throw RuntimeError.failed }
        }
        return slots
    }
}
