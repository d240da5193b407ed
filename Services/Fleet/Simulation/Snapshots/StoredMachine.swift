import Contracts
import FetchCore
import LifecycleCore
import Machines
import PushCore
import Records
import Timeline
import TransferCore

/// A machine of a device in a snapshot.
struct StoredMachine<M: Machine> {
    var eventCount = 0
    var now = Instant.epoch
    var state = M()
}

typealias StoredFetch = StoredMachine<FetchMachine>
typealias StoredLifecycle = StoredMachine<LifecycleMachine>
typealias StoredPush = StoredMachine<PushMachine>
typealias StoredTransfer = StoredMachine<TransferMachine>

extension StoredMachine: Record {
    static var placeholder: Self { Self() }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("eventCount", &eventCount)
        fields.field("now", &now)
        fields.field("state", &state)
    }
}

extension SimulatedMachine {
    /// The machine for a snapshot.
    var stored: StoredMachine<M> {
        StoredMachine(eventCount: aggregate.eventCount, now: aggregate.now, state: aggregate.state)
    }

    /// Continues from a snapshot.
    mutating func restore(_ stored: StoredMachine<M>, key: AggregateKey) {
        let restored = Aggregate<M>(key: key, state: stored.state, now: stored.now, eventCount: stored.eventCount)
        aggregate = restored
        if folded != nil { folded = restored }
    }
}
