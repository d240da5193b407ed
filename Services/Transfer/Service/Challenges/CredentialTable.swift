import Contracts
import Postgres
import Records

/// The table `transfer.credentials`. Credentials are not in the log, because its events can't be removed one by one.
struct CredentialTable: Sendable {
    /// The key of a credential.
    struct Place: Sendable {
        let device: AggregateKey
        let challenge: String
    }

    let pool: ConnectionPool
    let partitions: Int

    private static let insert = Statement(
        """
        INSERT INTO transfer.credentials (partition, device, challenge, credential, stored_at)
        VALUES ($1, $2, $3, $4, now())
        ON CONFLICT ON CONSTRAINT credentials_pkey DO UPDATE SET credential = EXCLUDED.credential, stored_at = now()
        """)
    private static let find = Statement(
        "SELECT credential FROM transfer.credentials WHERE partition = $1 AND device = $2 AND challenge = $3")
    private static let remove = Statement(
        "DELETE FROM transfer.credentials WHERE partition = $1 AND device = $2 AND challenge = $3")
    private static let old = Statement(
        """
        SELECT device, challenge FROM transfer.credentials
        WHERE partition = $1 AND stored_at < now() - $2 * interval '1 second'
        """)

    private func keyParameters(_ key: AggregateKey, _ challenge: String) -> [Parameter] {
        [.int4(Int32(key.partition(of: partitions))), .text(key.description), .text(challenge)]
    }

    func store(_ credential: CredentialDocument, for key: AggregateKey, _ challenge: String) async throws(PostgresError)
    {
        _ = try await pool.execute(Query(Self.insert, keyParameters(key, challenge) + [.bytes(credential.binary)]))
    }

    func find(_ key: AggregateKey, _ challenge: String) async throws(PostgresError) -> CredentialDocument? {
        guard let row = try await pool.execute(Query(Self.find, keyParameters(key, challenge))).first else {
            return nil
        }
        return CredentialDocument(binary: try row.bytes(0))
    }

    func remove(_ key: AggregateKey, _ challenge: String) async throws(PostgresError) {
        _ = try await pool.execute(Query(Self.remove, keyParameters(key, challenge)))
    }

    /// Returns the credentials that were stored at least `age` ago.
    func old(_ partition: Int, _ age: Duration) async throws(PostgresError) -> [Place] {
        let parameters: [Parameter] = [.int4(Int32(partition)), .double(Double(age.components.seconds))]
        return try await pool.execute(Query(Self.old, parameters)).map { row throws(PostgresError) in
            Place(device: AggregateKey(try row.text(0)), challenge: try row.text(1))
        }
    }
}
