public import Postgres

/// The revocations of the tokens of fleets.
///
/// A fleet has no position in the log, so its tokens have a generation. A revocation begins the next generation.
public enum FleetRevocations {
    /// The generations of a fleet.
    public struct Generations: Sendable, Equatable {
        /// Tokens of earlier generations are revoked.
        public var current: Int
        /// The generation when each former incarnation of the log ended, by ``LogIncarnation/name``. It was 0 in those
        /// that are absent.
        public var former: [String: Int]

        public init(current: Int, former: [String: Int] = [:]) { (self.current, self.former) = (current, former) }
    }

    private static let all = Statement("SELECT fleet, generation FROM bus.fleet_revocations")
    private static let former = Statement("SELECT fleet, incarnation, generation FROM bus.former_fleet_generations")
    private static let one = Statement("SELECT generation FROM bus.fleet_revocations WHERE fleet = $1")
    private static let next = Statement(
        """
        INSERT INTO bus.fleet_revocations AS r (fleet, generation) VALUES ($1, 1)
        ON CONFLICT (fleet) DO UPDATE SET generation = r.generation + 1
        """)

    /// Returns the generations of each fleet with revoked tokens.
    public static func all(_ pool: ConnectionPool) async throws(PostgresError) -> [String: Generations] {
        let answers = try await pool.execute([Query(all), Query(former)])
        let rows = try answers[0].decode((String, Int).self)
        var fleets = Dictionary(uniqueKeysWithValues: rows.map { ($0, Generations(current: $1)) })
        for (fleet, incarnation, generation) in try answers[1].decode((String, String, Int).self) {
            fleets[fleet]?.former[incarnation] = generation
        }
        return fleets
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
