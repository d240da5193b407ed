import Contracts
import FetchMachine
import LifecycleMachine
import Machines
import Postgres
import PushMachine
import Runtime
import TransferMachine

/// The machine of a service, selected by name.
struct KnownMachine: Sendable {
    let name: String
    /// Returns the state at a time or position; nil if the service did not know the aggregate then.
    let past: @Sendable (AggregateKey, _ partition: Int, PastMoment, ConnectionPool) async throws -> PastState?
    /// Audits some aggregates of a partition.
    let audit: @Sendable (_ partition: Int, _ count: Int, ConnectionPool) async throws -> FoldCheck

    static let all = [
        KnownMachine(LifecycleMachine.self), KnownMachine(FetchMachine.self), KnownMachine(PushMachine.self),
        KnownMachine(TransferMachine.self),
    ]

    init<M: Machine>(_ type: M.Type) {
        name = M.name
        past = { key, partition, moment, pool in
            let travel = TimeTravel<M> { try await pool.execute($0) }
            guard let (aggregate, offset) = try await travel.aggregate(key, partition: partition, at: moment) else {
                return nil
            }
            return try PastState(aggregate, partition, offset)
        }
        audit = { partition, count, pool in
            try await FoldAudit<M>(pool: pool).check(partition: partition, count: count)
        }
    }
}
