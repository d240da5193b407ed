import Contracts
import Machines
import Synchronization

/// The shapers of the devices with running attempts in this process.
final class Shapers: Sendable {
    private struct Shared {
        var shaper: Shaper
        var users = 0
    }

    private let shapers = Mutex<[AggregateKey: Shared]>([:])

    /// Runs `body` with the device's shaper, which all its attempts share and which gets changes from now on.
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

    /// Changes the network of a device.
    func change(_ device: AggregateKey, to shape: NetworkShape?) {
        shapers.withLock { $0[device]?.shaper }?.change(to: shape)
    }
}
