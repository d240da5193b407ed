public import Postgres

/// The keys of tokens, in the database: every service reads the public ones, their issuer alone the private one.
public enum TokenKeys {
    /// The public keys in PEM, by key id.
    public static func trusted(_ pool: ConnectionPool) async throws(PostgresError) -> [String: String] {
        var keys: [String: String] = [:]
        for row in try await pool.run(Call(Statement("SELECT kid, public_key FROM bus.token_keys"))) {
            keys[try row.text(0)] = try row.text(1)
        }
        return keys
    }

    /// The issuer's newest signing key; nil before its first.
    public static func signing(
        _ issuer: String, _ pool: ConnectionPool
    ) async throws(PostgresError) -> (id: String, privateKey: String)? {
        let statement = Statement(
            """
            SELECT s.kid, s.private_key FROM bus.signing_keys AS s JOIN bus.token_keys AS t USING (kid)
            WHERE s.issuer = $1 ORDER BY t.created_at DESC, s.kid LIMIT 1
            """)
        guard let row = try await pool.run(Call(statement, [.text(issuer)])).first else { return nil }
        return (try row.text(0), try row.text(1))
    }

    /// Adds a pair of keys for an issuer that has none. Of replicas that do so at once one wins: read ``signing(_:_:)`` again.
    public static func add(
        _ issuer: String, id: String, privateKey: String, publicKey: String, _ pool: ConnectionPool
    ) async throws(PostgresError) {
        // One statement: both keys or none.
        let statement = Statement(
            """
            WITH trusted AS (
                INSERT INTO bus.token_keys (kid, issuer, public_key) VALUES ($2, $1, $4) ON CONFLICT DO NOTHING)
            INSERT INTO bus.signing_keys (kid, issuer, private_key) VALUES ($2, $1, $3) ON CONFLICT DO NOTHING
            """)
        _ = try await pool.run(
            Call(statement, [.text(issuer), .text(id), .text(privateKey), .text(publicKey)]))
    }
}
