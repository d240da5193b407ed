import Contracts
import Testing
import TransferCore

@testable import TransferService

/// The queue of attempts that wait for a free worker slot.
@Suite("Offers of attempts") struct AttemptOffersTests {
    private let offers = AttemptOffers()

    private func offer(_ device: String, _ task: Int, _ epoch: Int) -> AttemptOffer {
        AttemptOffer(
            slot: AttemptSlot(
                key: .device(device), taskKey: TaskKey(app: "a", session: "s", task: task)), epoch: epoch)
    }

    @Test func `an attempt that is offered twice waits once`() async {
        for _ in 0..<1000 {
            for task in 1...3 { offers.add(offer("d", task, 1)) }
        }
        #expect(offers.count == 3)
        var taken = offers.all.makeAsyncIterator()
        for task in 1...3 { #expect(await taken.next() == offer("d", task, 1)) }
        #expect(offers.count == 0)
        offers.add(offer("e", 1, 1))
        #expect(await taken.next() == offer("e", 1, 1), "no other offer is left")
    }

    @Test func `only the newest attempt of a task waits`() async {
        for epoch in [2, 5, 3] { offers.add(offer("d", 1, epoch)) }
        var taken = offers.all.makeAsyncIterator()
        #expect(await taken.next() == offer("d", 1, 5))
        // A taken attempt can be offered again, because the queue does not know whether it still runs.
        offers.add(offer("d", 1, 5))
        #expect(await taken.next() == offer("d", 1, 5))
    }
}
