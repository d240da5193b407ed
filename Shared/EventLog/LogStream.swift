public import Contracts

/// The events of a stream.
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

/// A step of a stream with marks.
public enum LogStep: Sendable, Equatable {
    case event(Event)
    /// The stream has delivered all its events up to here. It may resume here, even if its last event is much older.
    case mark(PositionVector)
}

/// Events of the log after a position: first the past ones, read as fast as the reader consumes them, then live.
///
/// The stream ends with a ``TailError`` or a `PostgresError`; after ``TailError/slowReader`` the reader resumes after
/// its last event. The caller checks that the start is retained: ``LogTail/isBeyondRetention(_:)``.
public struct LogStream: AsyncSequence, Sendable {
    public typealias Element = Event

    let tail: LogTail
    let selection: LogSelection
    /// The types of the events; nil for any.
    var types: Set<String>?
    let start: [Int: Int]
    let isMarked: Bool

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// The iterator: `next()` returns events, `step()` also marks.
    public struct Iterator: AsyncIteratorProtocol {
        let tail: LogTail
        let selection: LogSelection
        let types: Set<String>?
        let isMarked: Bool
        /// The position of the replay.
        var positions: [Int: Int]
        private var read: ArraySlice<Event> = []
        private var hasRead = false
        /// Whether a mark at `positions` is due.
        private var isUnmarked = false
        /// The steps of the live stream that are not returned yet.
        private var waiting: ArraySlice<LogStep> = []
        private var live: LogTail.Live.Steps.Iterator?
        private var taken: LogTail.Taken?

        /// Whether the next step is there, so that ``step()`` does not wait.
        public var hasNext: Bool { !read.isEmpty || isUnmarked || !waiting.isEmpty }

        init(_ stream: LogStream) {
            (tail, selection, isMarked) = (stream.tail, stream.selection, stream.isMarked)
            types = stream.types
            positions = stream.start
        }

        public mutating func next() async throws -> Event? {
            while let step = try await step() {
                if case .event(let event) = step { return event }
            }
            return nil
        }

        /// Returns the next event or mark. A mark comes after each part of the past. In a live stream it comes if the
        /// position has moved since the last mark, at most every ``LogTail/markInterval``.
        public mutating func step() async throws -> LogStep? {
            while true {
                if let event = read.popFirst() { return .event(event) }
                if isUnmarked {
                    isUnmarked = false
                    return .mark(positions)
                }
                if let step = waiting.popFirst() {
                    taken?.add(step)
                    return step
                }
                if live != nil {
                    guard let steps = try await live?.next() else { return nil }
                    waiting = steps[...]
                    continue
                }
                try Task.checkCancellation()
                let found = try await tail.replay(selection, after: positions)
                // Retention may have dropped events during the read. A start before the retained events is allowed for
                // an unmarked stream, but it can't be marked.
                if hasRead || isMarked, try await tail.isBeyondRetention(positions) { throw TailError.beyondRetention }
                // The replay of a position beyond the head begins at the head. A position that was read can't be beyond it.
                if hasRead, positions.contains(where: { found.positions[$0.key, default: $0.value] < $0.value }) {
                    throw TailError.eventsLost
                }
                hasRead = true
                positions = found.positions
                isUnmarked = isMarked
                read = found.events[...]
                if found.isAtHead,
                    let joined = tail.join(
                        selection, of: types, at: positions, isMarked: isMarked)
                {
                    live = joined.steps.makeAsyncIterator()
                    taken = joined.taken
                }
            }
        }
    }
}
