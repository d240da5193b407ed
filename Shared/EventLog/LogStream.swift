public import Contracts

/// Which events a stream has.
enum LogSelection: Sendable {
    case key(AggregateKey)
    case matching(@Sendable (Event) -> Bool)

    func wants(_ event: Event) -> Bool {
        switch self {
        case .key(let key): event.key == key
        case .matching(let isWanted): isWanted(event)
        }
    }
}

/// Events of the log from some place on: first what is there, read as fast as the reader takes it, then live.
///
/// Ends with a ``TailError`` or a `PostgresError`; after ``TailError/slowReader`` the reader resumes after its last event. That
/// the log still has what comes after the start is for whoever asks: ``LogTail/isBeyondRetention(_:)``.
public struct LogStream: AsyncSequence, Sendable {
    public typealias Element = Event

    let tail: LogTail
    let selection: LogSelection
    let start: [Int: Int]

    public func makeAsyncIterator() -> Iterator { Iterator(tail: tail, selection: selection, positions: start) }

    public struct Iterator: AsyncIteratorProtocol {
        let tail: LogTail
        let selection: LogSelection
        /// How far the replay has read.
        var positions: [Int: Int]
        private var read: ArraySlice<Event> = []
        private var hasRead = false
        private var live: LogTail.Live.Events.Iterator?
        private var taken: LogTail.Taken?

        init(tail: LogTail, selection: LogSelection, positions: [Int: Int]) {
            self.tail = tail
            self.selection = selection
            self.positions = positions
        }

        public mutating func next() async throws -> Event? {
            while true {
                if let event = read.popFirst() { return event }
                if live != nil {
                    guard let event = try await live?.next() else { return nil }
                    taken?.add(event)
                    return event
                }
                try Task.checkCancellation()
                let found = try await tail.replay(selection, after: positions)
                // What retention dropped meanwhile is missing in it.
                if hasRead, try await tail.isBeyondRetention(positions) { throw TailError.beyondRetention }
                hasRead = true
                positions = found.positions
                read = found.events[...]
                if found.isAtHead, let joined = tail.join(selection, at: positions) {
                    live = joined.events.makeAsyncIterator()
                    taken = joined.taken
                }
            }
        }
    }
}
