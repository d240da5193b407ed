import Contracts
import Synchronization
import TransferCore

/// A task of a device.
struct AttemptSlot: Hashable, Sendable {
    var key: AggregateKey
    var taskKey: TaskKey
}

/// An attempt that a worker may run.
struct AttemptOffer: Hashable, Sendable {
    var slot: AttemptSlot
    var epoch: Int
}

/// A queue of offered attempts. It has only the newest attempt of each task.
final class AttemptOffers: Sendable {
    private let epochs = Mutex<[AttemptSlot: Int]>([:])
    private let slots = AsyncStream<AttemptSlot>.makeStream()

    /// The number of waiting attempts.
    var count: Int { epochs.withLock(\.count) }

    func add(_ offer: AttemptOffer) {
        let isFirst = epochs.withLock { epochs in
            let known = epochs[offer.slot]
            epochs[offer.slot] = max(known ?? 0, offer.epoch)
            return known == nil
        }
        if isFirst { slots.continuation.yield(offer.slot) }
    }

    /// The offers in order, for one reader.
    var all: AsyncCompactMapSequence<AsyncStream<AttemptSlot>, AttemptOffer> {
        slots.stream.compactMap { [self] slot in
            epochs.withLock { $0.removeValue(forKey: slot) }.map { AttemptOffer(slot: slot, epoch: $0) }
        }
    }
}
