public import Postgres
import Records

/// The keys of tokens in the database. Every service reads the public keys; only the issuer reads its private keys.
public enum TokenKeys {
    /// Returns the public keys of an issuer in PEM, by key id.
    public static func trusted(
        _ issuer: String, _ pool: ConnectionPool
    ) async throws(PostgresError) -> [String: String] {
        let statement = Statement("SELECT kid, public_key FROM bus.token_keys WHERE issuer = $1")
        return Dictionary(
            uniqueKeysWithValues: try await pool.execute(statement, .text(issuer)).decode((String, String).self))
    }

    private static let newest = """
        SELECT s.kid, s.private_key FROM bus.signing_keys AS s JOIN bus.token_keys AS t USING (kid)
        WHERE s.issuer = $1 ORDER BY t.created_at DESC, s.kid LIMIT 1
        """

    /// Returns the newest signing key of an issuer; nil before its first.
    public static func signing(
        _ issuer: String, _ pool: ConnectionPool
    ) async throws(PostgresError) -> (id: String, privateKey: String)? {
        return try await pool.execute(Statement(newest), .text(issuer)).decode((String, String).self).first.map {
            ($0, $1)
        }
    }

    /// Deletes all keys of an issuer except the newest. The tokens that they signed are void.
    ///
    /// - Parameter audit: the entry of the audit trail; added if there was a key to delete.
    /// - Returns: the ids of the deleted keys.
    public static func deleteOld(
        _ issuer: String, _ pool: ConnectionPool, audit: AuditEntry? = nil
    ) async throws -> [String] {
        let statement = Statement(
            """
            WITH newest AS (\(newest)),
                private AS (DELETE FROM bus.signing_keys WHERE issuer = $1 AND kid <> (SELECT kid FROM newest))
            DELETE FROM bus.token_keys WHERE issuer = $1 AND kid <> (SELECT kid FROM newest) RETURNING kid
            """)
        return try await pool.transaction { connection in
            let ids = try await connection.execute(statement, .text(issuer)).decode(String.self)
            if !ids.isEmpty, let audit {
                let names = JSON.array(ids.sorted().map { .string($0) })
                _ = try await connection.execute(audit.with("keys", names).query)
            }
            return ids
        }
    }

    /// Adds a key pair, unless another replica has added one with the same id. So read ``signing(_:_:)`` again.
    ///
    /// - Parameter audit: the entry of the audit trail; added together with the key pair.
    public static func add(
        _ issuer: String, id: String, privateKey: String, publicKey: String, _ pool: ConnectionPool,
        audit: AuditEntry? = nil
    ) async throws {
        // Insert both keys or none: a private key works only with its public key.
        let statement = Statement(
            """
            WITH trusted AS (
                INSERT INTO bus.token_keys (kid, issuer, public_key) VALUES ($2, $1, $4) ON CONFLICT DO NOTHING
                RETURNING kid)
            INSERT INTO bus.signing_keys (kid, issuer, private_key) SELECT kid, $1, $3 FROM trusted
            """)
        try await pool.transaction { connection in
            let added = try await connection.execute(
                statement, .text(issuer), .text(id), .text(privateKey), .text(publicKey)
            ).affected
            if added > 0, let audit { _ = try await connection.execute(audit.query) }
        }
    }
}
