import Contracts
import Machines
import Synchronization

/// The networks of the devices whose transfers move in this process.
final class Shapers: Sendable {
    private struct Shared {
        var shaper: Shaper
        var users = 0
    }

    private let shapers = Mutex<[AggregateKey: Shared]>([:])

    /// Lets a transfer move over its device's network, with whichever others move there. From here on changes are heard of.
    func share<Outcome>(
        _ device: AggregateKey, _ body: (Shaper) async throws -> Outcome
    ) async rethrows -> Outcome {
        let shaper = shapers.withLock { shapers in
            let shaper = shapers[device, default: Shared(shaper: Shaper())].shaper
            shapers[device, default: Shared(shaper: shaper)].users += 1
            return shaper
        }
        defer {
            shapers.withLock { shapers in
                shapers[device]?.users -= 1
                if shapers[device]?.users == 0 { shapers[device] = nil }
            }
        }
        return try await body(shaper)
    }

    /// A device is on another network.
    func change(_ device: AggregateKey, to shape: NetworkShape?) {
        shapers.withLock { $0[device]?.shaper }?.change(to: shape)
    }
}
