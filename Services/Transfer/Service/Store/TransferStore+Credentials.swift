import Contracts
import EventLog
import Postgres
import Records

// The table `transfer.credentials`. Credentials are not in the log, because its events can't be removed one by one.
extension TransferStore {
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

    private func parameters(_ key: AggregateKey, _ challenge: String) -> [Parameter] {
        [.partition(key.partition(of: partitions)), .key(key), .text(challenge)]
    }

    func store(_ credential: CredentialDocument, for key: AggregateKey, _ challenge: String) async throws(PostgresError)
    {
        try await pool.execute(Self.insert, parameters(key, challenge) + [.bytes(credential.binary)])
    }

    func storedCredential(_ key: AggregateKey, _ challenge: String) async throws(PostgresError) -> CredentialDocument? {
        try await pool.execute(Self.find, parameters(key, challenge)).decode([UInt8].self).first.flatMap {
            CredentialDocument(binary: $0)
        }
    }

    func removeCredential(_ key: AggregateKey, _ challenge: String) async throws(PostgresError) {
        try await pool.execute(Self.remove, parameters(key, challenge))
    }

    /// Returns the devices and challenges of the credentials that were stored at least `age` ago.
    func oldCredentials(of partition: Int, _ age: Duration) async throws(PostgresError) -> [(AggregateKey, String)] {
        try await pool.execute(Self.old, .partition(partition), .double(Double(age.components.seconds)))
            .decode((AggregateKey, String).self)
    }
}
