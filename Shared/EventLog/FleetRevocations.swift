public import Postgres

/// The revocations of the tokens of fleets.
///
/// A fleet has no position in the log, so its tokens have a generation. A revocation begins the next generation.
public enum FleetRevocations {
    /// The generations of a fleet.
    public struct Generations: Sendable, Equatable {
        /// Tokens of earlier generations are revoked.
        public var current: Int
        /// The highest generation that tokens of earlier incarnations of the log count for; nil in the first incarnation.
        public var common: Int?

        public init(current: Int, common: Int?) { (self.current, self.common) = (current, common) }
    }

    private static let all = Statement("SELECT fleet, generation, common_generation FROM bus.fleet_revocations")
    private static let one = Statement("SELECT generation FROM bus.fleet_revocations WHERE fleet = $1")
    private static let next = Statement(
        """
        INSERT INTO bus.fleet_revocations AS r (fleet, generation, common_generation)
        SELECT $1, 1, CASE WHEN is_first THEN NULL ELSE 0 END FROM bus.incarnation
        ON CONFLICT (fleet) DO UPDATE SET generation = r.generation + 1
        """)

    /// Returns the generations of each fleet with revoked tokens.
    public static func all(_ pool: ConnectionPool) async throws(PostgresError) -> [String: Generations] {
        let rows = try await pool.execute(all).decode((String, Int, Int?).self)
        return Dictionary(uniqueKeysWithValues: rows.map { ($0, Generations(current: $1, common: $2)) })
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
