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

    /// Lets a transfer move over its device's network, with whichever others move there.
    ///
    /// - Parameter shape: of the network, as known now.
    func share<Outcome>(
        _ device: AggregateKey, _ shape: NetworkShape?, _ body: (Shaper) async throws -> Outcome
    ) async rethrows -> Outcome {
        let shaper = shapers.withLock { shapers in
            let shaper = shapers[device, default: Shared(shaper: Shaper(shape))].shaper
            shapers[device, default: Shared(shaper: shaper)].users += 1
            return shaper
        }
        shaper.change(to: shape)
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
