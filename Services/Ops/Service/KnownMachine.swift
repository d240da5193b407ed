import Contracts
import FetchCore
import LifecycleCore
import Machines
import PushCore
import Runtime
import TransferCore

/// The machine of a service, selected by name.
struct KnownMachine: Sendable {
    let name: String
    /// Returns the state at a time or position; nil if the service did not know the aggregate then.
    let past: @Sendable (AggregateKey, _ partition: Int, PastMoment, OpsStore) async throws -> PastState?
    /// Audits some aggregates of a partition.
    let audit: @Sendable (_ partition: Int, _ count: Int, OpsStore) async throws -> FoldCheck

    static let all = [
        KnownMachine(LifecycleMachine.self), KnownMachine(FetchMachine.self), KnownMachine(PushMachine.self),
        KnownMachine(TransferMachine.self),
    ]

    init<M: Machine>(_ type: M.Type) {
        name = M.name
        past = { key, partition, moment, store in
            let found = try await store.travel(M.self).aggregate(key, partition: partition, at: moment)
            guard let (aggregate, offset) = found else { return nil }
            return try PastState(aggregate, partition, offset)
        }
        audit = { partition, count, store in try await store.audit(type, partition: partition, count: count) }
    }
}
