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

/// What a stream tells to who asks how far it has come.
public enum LogStep: Sendable, Equatable {
    case event(Event)
    /// What is wanted up to here was told: a stream may be resumed there, though its own last event may be long past.
    case mark(LogVector)
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
    let isMarked: Bool

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    public struct Iterator: AsyncIteratorProtocol {
        let tail: LogTail
        let selection: LogSelection
        let isMarked: Bool
        /// How far the replay has read.
        var positions: [Int: Int]
        private var read: ArraySlice<Event> = []
        private var hasRead = false
        /// Whether all up to `positions` was told, but not that it was.
        private var isUnmarked = false
        private var live: LogTail.Live.Steps.Iterator?
        private var taken: LogTail.Taken?

        init(_ stream: LogStream) {
            (tail, selection, isMarked) = (stream.tail, stream.selection, stream.isMarked)
            positions = stream.start
        }

        public mutating func next() async throws -> Event? {
            while let step = try await step() {
                if case .event(let event) = step { return event }
            }
            return nil
        }

        /// The next event, or a mark: each time that a part of the past has been read, and while the stream is live whenever
        /// something passed by unwanted since the last, at most every ``LogTail/markInterval``.
        public mutating func step() async throws -> LogStep? {
            while true {
                if let event = read.popFirst() { return .event(event) }
                if isUnmarked {
                    isUnmarked = false
                    return .mark(positions)
                }
                if live != nil {
                    guard let step = try await live?.next() else { return nil }
                    taken?.add(step)
                    return step
                }
                try Task.checkCancellation()
                let found = try await tail.replay(selection, after: positions)
                // What retention dropped meanwhile is missing in it. A start that the log has no more is no fault of who reads all
                // that there is, but no place to mark.
                if hasRead || isMarked, try await tail.isBeyondRetention(positions) { throw TailError.beyondRetention }
                hasRead = true
                positions = found.positions
                isUnmarked = isMarked
                read = found.events[...]
                if found.isAtHead, let joined = tail.join(selection, at: positions, isMarked: isMarked) {
                    live = joined.steps.makeAsyncIterator()
                    taken = joined.taken
                }
            }
        }
    }
}
