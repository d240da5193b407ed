import Contracts
import EventLog
import Postgres
import Records

// The table `transfer.request_headers`. Secret header fields are not in the log, because its events can't be removed one
// by one.
extension TransferStore {
    private static let insert = Statement(
        """
        INSERT INTO transfer.request_headers (partition, device, id, app, fields, stored_at)
        VALUES ($1, $2, $3, $4, $5, now())
        """)
    private static let find = Statement(
        "SELECT fields FROM transfer.request_headers WHERE partition = $1 AND device = $2 AND id = $3")
    private static let remove = Statement(
        "DELETE FROM transfer.request_headers WHERE partition = $1 AND device = $2 AND id = $3")
    // Only rows from before the event: the app may be installed again when a process reads it. Without an app, all of the
    // device.
    private static let removeBefore = Statement(
        """
        DELETE FROM transfer.request_headers
        WHERE partition = $1 AND device = $2 AND ($3::text IS NULL OR app = $3) AND stored_at <= (
            SELECT appended_at FROM bus.events WHERE partition = $1 AND log_offset = $4)
        """)
    private static let old = Statement(
        """
        SELECT device, id FROM transfer.request_headers
        WHERE partition = $1 AND stored_at < now() - $2 * interval '1 second'
        """)

    private func device(_ key: AggregateKey) -> [Parameter] { [.partition(key.partition(of: partitions)), .key(key)] }

    func store(
        _ headers: SecretHeaders, for key: AggregateKey, app: String, _ id: String
    ) async throws(PostgresError) {
        try await pool.execute(Self.insert, device(key) + [.text(id), .text(app), .bytes(headers.binary)])
    }

    func storedHeaders(_ key: AggregateKey, _ id: String) async throws(PostgresError) -> SecretHeaders? {
        try await pool.execute(Self.find, device(key) + [.text(id)]).decode([UInt8].self).first.flatMap {
            SecretHeaders(binary: $0)
        }
    }

    func removeHeaders(_ key: AggregateKey, _ id: String) async throws(PostgresError) {
        try await pool.execute(Self.remove, device(key) + [.text(id)])
    }

    /// Removes the fields of all requests of an app, or of a device if `app` is nil, from before an event.
    func removeHeaders(_ key: AggregateKey, ofApp app: String?, before event: Event) async throws(PostgresError) {
        try await pool.execute(Self.removeBefore, device(key) + [.text(app), .int(event.offset)])
    }

    /// Returns the devices and ids of the fields that were stored at least `age` ago.
    func oldHeaders(of partition: Int, _ age: Duration) async throws(PostgresError) -> [(AggregateKey, String)] {
        try await pool.execute(Self.old, .partition(partition), .double(Double(age.components.seconds)))
            .decode((AggregateKey, String).self)
    }
}
