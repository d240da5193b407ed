import Contracts
import EventLog
import Postgres
import Timeline

extension OpsStore {
    private static let erasure = Statement(
        """
        SELECT events, floor(extract(epoch FROM erased_at) * 1000)::int8,
            floor(extract(epoch FROM requested_at) * 1000)::int8, waits_for
        FROM bus.erasures WHERE partition = $1 AND key = $2
        """)

    /// Returns the last erasure of a device; nil without one.
    func erasure(of device: AggregateKey, partitions: Int) async throws(PostgresError) -> Erasure? {
        let parameters: [Parameter] = [.partition(device.partition(of: partitions)), .key(device)]
        guard let row = try await pool.execute(Query(Self.erasure, parameters)).first else { return nil }
        let (events, erasedAt, requestedAt, waitsFor) = try row.decode((Int, Instant?, Instant, String?).self)
        return Erasure(events: events, erasedAt: erasedAt, requestedAt: requestedAt, waitsFor: waitsFor)
    }
}
