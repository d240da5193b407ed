public import Contracts
public import Logging
public import Postgres
public import ServiceLifecycle
import Synchronization

/// The live tail: the one reader of new events in a process. It reads each followed partition once, and routes the
/// events to the streams in memory. A new stream replays past events from the database, and joins when it has caught
/// up.
public final class LogTail: Service {
    /// The most unread events of a live stream, for each partition that it follows. The tail checks the limit before it
    /// adds the events of a pass, so one pass may exceed it. A stream beyond the limit is disconnected.
    public static let readerLimit = 1000
    /// The most unread bytes of a live stream, for any number of partitions.
    public static let readerBytes = 8 << 20
    static let chunk = 500

    private struct FollowedPartition {
        var position: Int
        var keyed: [AggregateKey: Set<Int>] = [:]
        var others: Set<Int> = []
        var isEmpty: Bool { keyed.isEmpty && others.isEmpty }
    }

    private struct State {
        /// The followed partitions.
        var followed: [Int: FollowedPartition] = [:]
        var readers: [Int: Reader] = [:]
        /// The readers that get marks.
        var marked: Set<Int> = []
        /// The earliest time of the next marks.
        var markedNext = ContinuousClock.now
        var joined = 0
        var passes = 0
        var touched: Set<Int> = []
        /// The readers with events that are not sent yet.
        var handed: Set<Int> = []

        /// Whether a reader of a partition may want events of these types.
        func awaits(_ types: Set<String>, in partition: Int) -> Bool {
            guard let followed = followed[partition] else { return false }
            return !followed.keyed.isEmpty
                || followed.others.contains { readers[$0]?.types.map { !$0.isDisjoint(with: types) } ?? true }
        }
    }

    /// The number of partitions of the log.
    public let partitions: Int
    /// The shortest interval between two marks of a live stream.
    public let markInterval: Duration
    /// The shortest interval between two reads of the log. Meanwhile events gather.
    let pace: Duration
    let pool: ConnectionPool
    /// The interval between two looks at all followed partitions. A wake-up may be lost.
    private let pollInterval: Duration
    private let logger: Logger
    private let state = Mutex(State())
    private let signal = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    /// - Parameters:
    ///   - partitions: the number of partitions of the log.
    ///   - updates: the source of wake-ups.
    ///   - pace: the shortest interval between two reads. The first event after a silence does not wait for it.
    ///   - pollInterval: the interval between two looks at all followed partitions.
    public init(
        pool: ConnectionPool, partitions: Int, updates: WakeUpReceiver, markInterval: Duration = .seconds(10),
        pace: Duration = .zero, pollInterval: Duration = .milliseconds(500), logger: Logger
    ) {
        self.pollInterval = pollInterval
        self.pool = pool
        self.partitions = partitions
        self.markInterval = markInterval
        self.pace = pace
        self.logger = logger
        updates.follow { [weak self] updates in
            switch updates {
            case .everything: self?.look(at: nil)
            case .wakeUp(let wakeUp): self?.look(at: wakeUp.partitions, for: wakeUp.types)
            case .clock, .settling: break
            }
        }
    }

    /// Returns the events of one aggregate after an offset, oldest first, then live.
    ///
    /// - Parameter isMarked: whether ``LogStream/Iterator/step()`` returns marks.
    public func events(of key: AggregateKey, after offset: Int, isMarked: Bool = false) -> LogStream {
        let start = [key.partition(of: partitions): offset]
        return LogStream(tail: self, selection: .key(key), start: start, isMarked: isMarked)
    }

    /// Returns the events of partitions after an offset in each, then live. The order is by offset within a partition.
    /// Across partitions it is by time within one read.
    ///
    /// - Parameter isMarked: whether ``LogStream/Iterator/step()`` returns marks.
    public func events(
        in start: [Int: Int], isMarked: Bool = false,
        where isWanted: @escaping @Sendable (Event) -> Bool = { _ in true }
    ) -> LogStream {
        LogStream(tail: self, selection: .matching(isWanted), start: start, isMarked: isMarked)
    }

    /// Returns the events of some types in partitions, after an offset in each, then live. If all readers of a process
    /// name their types, other events cause no read: the poll passes over them.
    ///
    /// - Parameter types: the types of the events.
    public func events(in start: [Int: Int], of types: Set<String>) -> LogStream {
        LogStream(
            tail: self, selection: .matching { types.contains($0.type) }, types: types, start: start, isMarked: false)
    }

    /// The number of reads so far, with the last one of each wake-up, which finds no partition.
    package var passes: Int { state.withLock(\.passes) }

    /// Returns the head of every partition.
    public func heads() async throws(PostgresError) -> [Int: Int] {
        try LogReader.heads(try await pool.execute(LogReader.heads))
    }

    /// Runs until graceful shutdown or cancellation.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await _ in self.signal.stream { await self.read() }
                }
                group.addTask {
                    while (try? await Task.sleep(for: self.pollInterval)) != nil { await self.poll() }
                }
                await group.waitForAll()
            }
        }
    }

    /// - Parameters:
    ///   - touched: the partitions with new events; nil for all.
    ///   - types: the types of these events; nil if unknown.
    private func look(at touched: [Int]?, for types: Set<String>? = nil) {
        let isNeeded = state.withLock { state in
            var wanted = touched.map { Set($0).intersection(state.followed.keys) } ?? Set(state.followed.keys)
            if let types { wanted = wanted.filter { state.awaits(types, in: $0) } }
            state.touched.formUnion(wanted)
            return !wanted.isEmpty
        }
        if isNeeded { signal.continuation.yield() }
    }

    /// Looks at the followed partitions whose head is ahead: one statement, however many they are. Ends the streams of
    /// partitions whose head went back: the log has lost events, and will give their offsets to others.
    private func poll() async {
        mark()
        let positions = state.withLock { $0.followed.mapValues(\.position) }
        guard !positions.isEmpty else { return }
        do {
            let heads = try await heads()
            end(positions.filter { heads[$0.key, default: .max] < $0.value }.map(\.key))
            look(at: positions.filter { heads[$0.key, default: 0] > $0.value }.map(\.key))
        } catch {
            logger.warning("failed to read the log, will retry", error: error)
        }
    }

    /// Reads partitions with new events to their heads.
    private func read() async {
        while true {
            let (pass, positions) = state.withLock { state in
                defer { state.touched.removeAll() }
                state.passes += 1
                let positions = state.touched.sorted().compactMap { partition in
                    state.followed[partition].map { (partition, $0.position) }
                }
                return (state.passes, positions)
            }
            mark()
            guard !positions.isEmpty else { return }
            do {
                let queries = positions.map {
                    Query(LogReader.all, [.int4(Int32($0.0)), .int($0.1), .int(Self.chunk)])
                }
                let answers = try await pool.execute(queries)
                defer { flush() }
                for ((partition, position), rows) in zip(positions, answers) {
                    let events = try rows.map(LogReader.event)
                    route(events, partition, position, pass)
                }
            } catch {
                // The poll retries.
                return logger.warning("failed to read the log, will retry", error: error)
            }
            if pace > .zero { try? await Task.sleep(for: pace) }
        }
    }

    /// Ends the streams of partitions.
    private func end(_ partitions: [Int]) {
        guard !partitions.isEmpty else { return }
        let ended = state.withLock { state in
            state.readers.values.filter { !$0.from.keys.filter(partitions.contains).isEmpty }.map(\.continuation)
        }
        // Outside of the lock: the end of a stream calls `leave`, which takes the lock.
        for continuation in ended { continuation.finish(throwing: TailError.eventsLost) }
    }

    /// Sends the events of a pass to the readers.
    private func flush() {
        state.withLock { state in
            for id in state.handed { state.readers[id]?.flush() }
            state.handed.removeAll(keepingCapacity: true)
        }
    }

    /// Sends marks to the readers.
    private func mark() {
        let now = ContinuousClock.now
        state.withLock { state in
            guard now >= state.markedNext else { return }
            state.markedNext = now + min(markInterval, .milliseconds(500))
            for id in state.marked {
                state.readers[id]?.mark(at: now, every: markInterval) { state.followed[$0]?.position }
            }
        }
    }

    private func route(_ events: [Event], _ partition: Int, _ position: Int, _ pass: Int) {
        let slow = state.withLock { state -> [Live.Steps.Continuation] in
            // Readers may have left or joined during the read.
            guard let followed = state.followed[partition], followed.position == position, let last = events.last else {
                return []
            }
            state.followed[partition]?.position = last.offset
            if events.count == Self.chunk { state.touched.insert(partition) }
            var slow: [Live.Steps.Continuation] = []
            // A disconnected reader gets no more events, because it resumes after its last one.
            var cut: Set<Int> = []
            for event in events {
                for id in followed.keyed[event.key, default: []].union(followed.others) {
                    guard !cut.contains(id), let reader = state.readers[id],
                        event.offset > reader.from[partition, default: 0],
                        reader.selection.wants(event)
                    else { continue }
                    if state.readers[id]?.hand(event, in: pass) == false {
                        cut.insert(id)
                        slow.append(reader.continuation)
                    } else {
                        state.handed.insert(id)
                    }
                }
            }
            return slow
        }
        // Outside of the lock: the end of a stream calls `leave`, which takes the lock.
        for continuation in slow { continuation.finish(throwing: TailError.slowReader) }
    }

    /// Joins a reader that has all events up to `positions`; nil if the tail is ahead, so that it must replay more.
    func join(
        _ selection: LogSelection, of types: Set<String>?, at positions: [Int: Int], isMarked: Bool
    ) -> Live? {
        let joined: Live? = state.withLock { state in
            guard positions.allSatisfy({ state.followed[$0.key].map(\.position) ?? $0.value <= $0.value }) else {
                return nil
            }
            // `hand` limits the unread events.
            let (steps, continuation) = Live.Steps.makeStream(bufferingPolicy: .unbounded)
            state.joined += 1
            let id = state.joined
            let reader = Reader(selection: selection, types: types, from: positions, continuation: continuation)
            state.readers[id] = reader
            if isMarked { state.marked.insert(id) }
            for (partition, position) in positions {
                var followed = state.followed[partition] ?? FollowedPartition(position: position)
                if case .key(let key) = selection {
                    followed.keyed[key, default: []].insert(id)
                } else {
                    followed.others.insert(id)
                }
                state.followed[partition] = followed
            }
            continuation.onTermination = { [weak self] _ in self?.leave(id) }
            return Live(steps: steps, taken: reader.taken)
        }
        if joined != nil { look(at: Array(positions.keys)) }
        return joined
    }

    private func leave(_ id: Int) {
        state.withLock { state in
            guard let reader = state.readers.removeValue(forKey: id) else { return }
            state.marked.remove(id)
            for partition in reader.from.keys {
                guard var followed = state.followed[partition] else { continue }
                if case .key(let key) = reader.selection {
                    followed.keyed[key]?.remove(id)
                    if followed.keyed[key]?.isEmpty == true { followed.keyed[key] = nil }
                } else {
                    followed.others.remove(id)
                }
                state.followed[partition] = followed.isEmpty ? nil : followed
            }
        }
    }
}
