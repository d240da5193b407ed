import Contracts
import Crypto
import Machines
import Postgres
import Records
import Runtime
import Timeline

/// A check that the stored states of a service equal the fold of their events.
struct FoldAudit<M: Machine>: Sendable {
    let pool: ConnectionPool

    private let digests = Statement(
        """
        SELECT key, digest, machine_version::int8, version, event_count, next_deadline
        FROM ops.state_digests($1, $2, $3)
        """)

    init(pool: ConnectionPool) { self.pool = pool }

    /// Folds the events of up to `count` randomly chosen aggregates, and compares the results with the stored states.
    func check(partition: Int, count: Int) async throws -> FoldCheck {
        var check = FoldCheck()
        check.service = M.name
        let travel = TimeTravel<M> { try await pool.execute($0) }
        let rows = try await pool.execute(
            Query(digests, [.text(M.name), .int4(Int32(partition)), .int4(Int32(count))]))
        for row in rows {
            // A state of another version has another digest. The service will upgrade it.
            guard try row.int(2) == M.version else { continue }
            let key = AggregateKey(try row.text(0))
            do {
                let past = try await travel.aggregate(key, partition: partition, at: .offset(try row.int(3)))
                let (events, deadline) = (try row.int(4), try row.optionalInt(5))
                let isSame =
                    try past.map { Array(SHA256.hash(data: $0.aggregate.state.binary)) } == row.bytes(1)
                    && past?.aggregate.eventCount == events
                    && past?.aggregate.nextDeadline?.milliseconds == deadline.map(Int64.init)
                if !isSame { check.differing.append(key.description) }
                check.checked += 1
            } catch is BeyondRetention {}
        }
        return check
    }
}

/// The result of a fold audit.
struct FoldCheck: Record {
    var checked = 0
    /// The keys whose stored state differs from the fold of the events.
    var differing: [String] = []
    var service = ""
}
