public import Postgres

/// The revocations of the tokens of fleets.
///
/// A fleet has no position in the log, so its tokens have a generation. A revocation begins the next generation.
public enum FleetRevocations {
    private static let all = Statement("SELECT fleet, generation FROM bus.fleet_revocations")
    private static let one = Statement("SELECT generation FROM bus.fleet_revocations WHERE fleet = $1")
    private static let next = Statement(
        """
        INSERT INTO bus.fleet_revocations AS r (fleet, generation) VALUES ($1, 1)
        ON CONFLICT (fleet) DO UPDATE SET generation = r.generation + 1
        """)

    /// Returns the generation of each fleet with revoked tokens.
    public static func all(_ pool: ConnectionPool) async throws(PostgresError) -> [String: Int] {
        Dictionary(uniqueKeysWithValues: try await pool.execute(all).decode((String, Int).self))
    }

    /// Returns the generation of a fleet's new tokens.
    public static func generation(of fleet: String, _ pool: ConnectionPool) async throws(PostgresError) -> Int {
        try await pool.execute(one, .text(fleet)).decode(Int.self).first ?? 0
    }

    /// Revokes all tokens of a fleet.
    ///
    /// - Parameter audit: the entry of the audit trail.
    public static func revoke(
        _ fleet: String, _ pool: ConnectionPool, audit: AuditEntry? = nil
    ) async throws(PostgresError) {
        _ = try await pool.execute([Query(next, .text(fleet))] + audit.queries)
    }
}
