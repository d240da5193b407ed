import Contracts
import Synchronization

extension LogTail {
    /// The steps of a live reader, and the count of those that it has consumed. The steps of one pass come together.
    struct Live: Sendable {
        typealias Steps = AsyncThrowingStream<[LogStep], any Error>

        let steps: Steps
        let taken: Taken
    }

    /// The count of steps that a reader has consumed.
    final class Taken: Sendable {
        private let number = Atomic(0)
        private let size = Atomic(0)
        private let marked = Atomic(0)
        var count: Int { number.load(ordering: .relaxed) }
        var bytes: Int { size.load(ordering: .relaxed) }
        var marks: Int { marked.load(ordering: .relaxed) }
        func add(_ step: LogStep) {
            switch step {
            case .event(let event):
                number.add(1, ordering: .relaxed)
                size.add(event.data.count, ordering: .relaxed)
            case .mark: marked.add(1, ordering: .relaxed)
            }
        }
    }

    /// A live reader.
    struct Reader {
        let selection: LogSelection
        /// The types of its events; nil for any.
        let types: Set<String>?
        /// The offset of each partition up to which it has the events.
        let from: [Int: Int]
        let continuation: Live.Steps.Continuation
        let taken = Taken()
        /// The steps that the stream does not have yet.
        private var pending: [LogStep] = []
        private var handed = 0
        private var handedBytes = 0
        /// The last pass with an event for it.
        private var pass = 0
        private var marks = 0
        private var markedAt = ContinuousClock.now
        /// The position of the last mark.
        private var mark: PositionVector

        init(
            selection: LogSelection, types: Set<String>?, from: [Int: Int], continuation: Live.Steps.Continuation
        ) {
            self.types = types
            (self.selection, self.from, self.continuation) = (selection, from, continuation)
            mark = from
        }

        /// Adds an event. ``flush()`` sends it.
        ///
        /// - Returns: false if too much of the earlier passes is unread.
        mutating func hand(_ event: Event, in pass: Int) -> Bool {
            if self.pass != pass {
                guard handed - taken.count <= LogTail.readerLimit * from.count,
                    handedBytes - taken.bytes <= LogTail.readerBytes
                else { return false }
                self.pass = pass
            }
            handed += 1
            handedBytes += event.data.count
            pending.append(.event(event))
            return true
        }

        /// Sends the events of a pass.
        mutating func flush() {
            guard !pending.isEmpty else { return }
            continuation.yield(pending)
            pending = []
        }

        /// Sends a mark if the position has moved since the last one, and the reader has consumed that one.
        mutating func mark(at now: ContinuousClock.Instant, every interval: Duration, _ position: (Int) -> Int?) {
            guard now - markedAt >= interval, marks == taken.marks else { return }
            var latest = from
            for (partition, offset) in from { latest[partition] = max(offset, position(partition) ?? offset) }
            guard latest != mark else { return }
            (mark, markedAt) = (latest, now)
            marks += 1
            pending.append(.mark(latest))
            flush()
        }
    }
}
