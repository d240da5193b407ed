import Contracts
import Testing

@testable import TransferService

/// The network of a device as its transfers see it.
@Suite struct SharedNetworks {
    private static let phone = AggregateKey.device("phone")
    private let shapers = Shapers()

    private func portion(_ shape: NetworkShape?) -> Int { Shaper(shape).portion(.down) }

    @Test func `a transfer learns the network from the device state`() async {
        let portion = await shapers.share(Self.phone) { shaper in
            let shape = await shaper.learn(\.self) { NetworkShape?.some(.edge) }
            #expect(shape == .edge)
            return shaper.portion(.down)
        }
        #expect(portion == self.portion(.edge))
    }

    /// The state is older than the change but arrives later.
    @Test(arguments: [NetworkShape.wifi, nil]) func `a change during the read wins`(next: NetworkShape?) async {
        let portion = await shapers.share(Self.phone) { shaper in
            _ = await shaper.learn(\.self) {
                shapers.change(Self.phone, to: next)
                return NetworkShape?.some(.edge)
            }
            return shaper.portion(.down)
        }
        #expect(portion == self.portion(next))
    }

    @Test func `a change of network affects all transfers of the device`() async {
        await shapers.share(Self.phone) { first in
            shapers.change(Self.phone, to: .lte)
            await shapers.share(Self.phone) { second in
                #expect(first === second && second.portion(.down) == portion(.lte))
                _ = await second.learn(\.self) { NetworkShape?.some(.edge) }
                #expect(first.portion(.down) == portion(.edge), "the state is newer than the last change")
            }
        }
        await shapers.share(Self.phone) { #expect($0.portion(.down) == portion(nil), "it is not kept") }
    }
}
