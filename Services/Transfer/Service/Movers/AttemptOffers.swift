import Contracts
import Synchronization
import TransferMachine

/// Which task of which device.
struct AttemptSlot: Hashable, Sendable {
    var key: AggregateKey
    var place: TaskPlace
}

/// An attempt that may be taken on.
struct AttemptOffer: Hashable, Sendable {
    var slot: AttemptSlot
    var epoch: Int
}

/// The attempts that wait to be taken on, in order: of each task only the newest, however often it is offered.
final class AttemptOffers: Sendable {
    private let epochs = Mutex<[AttemptSlot: Int]>([:])
    private let slots = AsyncStream<AttemptSlot>.makeStream()

    /// How many tasks wait.
    var count: Int { epochs.withLock(\.count) }

    func add(_ offer: AttemptOffer) {
        let isFirst = epochs.withLock { epochs in
            let known = epochs[offer.slot]
            epochs[offer.slot] = max(known ?? 0, offer.epoch)
            return known == nil
        }
        if isFirst { slots.continuation.yield(offer.slot) }
    }

    /// The offers, as they are taken. For one reader.
    var all: AsyncCompactMapSequence<AsyncStream<AttemptSlot>, AttemptOffer> {
        slots.stream.compactMap { [self] slot in
            epochs.withLock { $0.removeValue(forKey: slot) }.map { AttemptOffer(slot: slot, epoch: $0) }
        }
    }
}
