import Contracts
import EventLog
import Machines
import Postgres
import Records

extension Machine {
    /// A stored state of this machine, or of an older one that it can upgrade.
    init?(stored binary: [UInt8], version: Int) {
        if version == Self.version {
            self.init(binary: binary)
        } else if version < Self.version, let state = Self.upgraded(binary, from: version) {
            self = state
        } else {
            return nil
        }
    }
}

extension Aggregate {
    /// What the log says that an aggregate was at an offset: from the newest snapshot that is not later, or from its
    /// beginning.
    ///
    /// - Parameters:
    ///   - offset: that of its last event.
    ///   - count: how many events it has had.
    ///   - query: asks the database; inside a transaction, where there is one.
    /// - Throws: ``RuntimeError/malformedState(key:)`` where the log does not go back as far any more.
    static func folded(
        _ key: AggregateKey, partition: Int, upTo offset: Int, count: Int,
        query: @Sendable (Call) async throws -> Rows
    ) async throws -> Aggregate {
        var aggregate = Aggregate(key: key)
        var after = 0
        let start = try LogReader.foldStart(
            in: try await query(LogReader.foldStart(of: key, service: M.name, partition: partition, upTo: offset)))
        if case .snapshot(let base) = start, let state = M(stored: base.state, version: base.machineVersion) {
            aggregate = Aggregate(key: key, state: state, now: base.decidedAt, eventCount: base.eventCount)
            after = base.offset
        }
        let rows = try await query(
            Call(
                LogReader.historyBetween,
                [.int4(Int32(partition)), .text(key.description), .text(M.name), .int(after), .int(offset)]))
        try aggregate.fold(try rows.map { row throws(PostgresError) in try LogReader.event(row) })
        guard aggregate.eventCount == count else { throw RuntimeError.malformedState(key: key) }
        return aggregate
    }
}
