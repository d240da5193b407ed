import Contracts
import Testing
import TransferMachine

@testable import TransferService

/// What waits while as much is carried out as may be.
@Suite("Offers of attempts") struct AttemptOffersTests {
    private let offers = AttemptOffers()

    private func offer(_ device: String, _ task: Int, _ epoch: Int) -> AttemptOffer {
        AttemptOffer(
            slot: AttemptSlot(
                key: .device(device), place: TaskPlace(app: "a", session: "s", task: task)), epoch: epoch)
    }

    @Test func whatIsOfferedAgainWaitsOnce() async {
        for _ in 0..<1000 {
            for task in 1...3 { offers.add(offer("d", task, 1)) }
        }
        #expect(offers.count == 3)
        var taken = offers.all.makeAsyncIterator()
        for task in 1...3 { #expect(await taken.next() == offer("d", task, 1)) }
        #expect(offers.count == 0)
        offers.add(offer("e", 1, 1))
        #expect(await taken.next() == offer("e", 1, 1), "nothing was left between them")
    }

    @Test func theNewestCounts() async {
        for epoch in [2, 5, 3] { offers.add(offer("d", 1, epoch)) }
        var taken = offers.all.makeAsyncIterator()
        #expect(await taken.next() == offer("d", 1, 5))
        // What was taken may be offered again: nobody knows here whether it is still carried out.
        offers.add(offer("d", 1, 5))
        #expect(await taken.next() == offer("d", 1, 5))
    }
}
