import Contracts
import Testing

@testable import TransferService

/// What transfers that begin know of their device's network.
@Suite struct SharedNetworks {
    private static let phone = AggregateKey.device("phone")
    private let shapers = Shapers()

    private func portion(_ shape: NetworkShape?) -> Int { Shaper(shape).portion(.down) }

    @Test func aStateTellsWhatTheNetworkIsLike() async {
        let portion = await shapers.share(Self.phone) { shaper in
            let shape = await shaper.learn(\.self) { NetworkShape?.some(.edge) }
            #expect(shape == .edge)
            return shaper.portion(.down)
        }
        #expect(portion == self.portion(.edge))
    }

    /// The state is that of before the change, but comes after it.
    @Test(arguments: [NetworkShape.wifi, nil]) func whatIsHeardMeanwhileIsNewer(next: NetworkShape?) async {
        let portion = await shapers.share(Self.phone) { shaper in
            _ = await shaper.learn(\.self) {
                shapers.change(Self.phone, to: next)
                return NetworkShape?.some(.edge)
            }
            return shaper.portion(.down)
        }
        #expect(portion == self.portion(next))
    }

    @Test func allTransfersOfADeviceFeelIt() async {
        await shapers.share(Self.phone) { first in
            shapers.change(Self.phone, to: .lte)
            await shapers.share(Self.phone) { second in
                #expect(first === second && second.portion(.down) == portion(.lte))
                _ = await second.learn(\.self) { NetworkShape?.some(.edge) }
                #expect(first.portion(.down) == portion(.edge), "asked later, and nothing was heard since")
            }
        }
        await shapers.share(Self.phone) { #expect($0.portion(.down) == portion(nil), "nothing is kept of it") }
    }
}
