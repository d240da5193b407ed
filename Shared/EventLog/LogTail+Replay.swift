public import Contracts
public import Postgres

extension LogTail {
    /// Returns a page of the present events of one aggregate after an offset, oldest first.
    ///
    /// - Returns: the events, the offset up to which they are complete, and whether that is the head.
    public func page(
        of key: AggregateKey, after offset: Int
    ) async throws(PostgresError) -> (events: [Event], position: Int, isAtHead: Bool) {
        let partition = key.partition(of: partitions)
        let found = try await replay(.key(key), after: [partition: offset])
        return (found.events, found.positions[partition, default: offset], found.isAtHead)
    }

    /// Reads the next events after `positions`, at most a chunk of each partition; the more partitions, the smaller.
    ///
    /// - Returns: the events in order, the positions after them, and whether these are the heads of all partitions.
    func replay(
        _ selection: LogSelection, after positions: [Int: Int]
    ) async throws(PostgresError) -> (events: [Event], positions: [Int: Int], isAtHead: Bool) {
        // A reader of many partitions should buffer no more than a reader of few.
        let chunk = max(Self.chunk / 8, Self.chunk * 2 / max(2, positions.count))
        let order = positions.sorted { $0.key < $1.key }
        var queries = [Query(LogReader.headsOf, .int4s(order.map { Int32($0.key) }))]
        for (partition, position) in order {
            let parameter = Parameter.partition(partition)
            let call =
                switch selection {
                case .key(let key):
                    Query(LogReader.ofKey, [parameter, .key(key), .int(position), .int(chunk)])
                case .matching: Query(LogReader.all, [parameter, .int(position), .int(chunk)])
                }
            queries.append(call)
        }
        let rows = try await pool.execute(queries)
        let heads = try LogReader.heads(rows[0])
        var found = (lists: [[Event]](), positions: positions, isAtHead: true)
        for ((partition, position), rows) in zip(order, rows.dropFirst()) {
            let events = try rows.map(LogReader.event)
            let isFull = events.count == chunk
            if isFull { found.isAtHead = false }
            // The heads were read before the events, and commit order is offset order: up to there no event is missing.
            // A position beyond the head, from before a restore of the log, falls back to the head.
            found.positions[partition] =
                isFull ? events.last?.offset ?? position : max(heads[partition, default: 0], events.last?.offset ?? 0)
            found.lists.append(events.filter(selection.wants))
        }
        return (merged(found.lists), found.positions, found.isAtHead)
    }
}
