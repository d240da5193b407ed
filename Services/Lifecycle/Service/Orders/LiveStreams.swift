import Synchronization

/// The live order streams of this process: one a device. A new one replaces the old, whose client has gone, or will see that
/// it was replaced.
final class LiveStreams: Sendable {
    private struct Open {
        let id: Int
        let replacement: AsyncStream<Void>.Continuation
    }

    private struct State {
        var count = 0
        var open: [String: Open] = [:]
    }

    private let state = Mutex(State())

    /// How many are open.
    var count: Int { state.withLock { $0.open.count } }

    /// Begins a stream for a device.
    ///
    /// - Returns: tells once when the stream is replaced. Letting go of it ends the stream.
    func begin(_ device: String) -> AsyncStream<Void> {
        let (replaced, replacement) = AsyncStream<Void>.makeStream()
        let (id, former) = state.withLock { state in
            state.count += 1
            let former = state.open.updateValue(Open(id: state.count, replacement: replacement), forKey: device)
            return (state.count, former)
        }
        replacement.onTermination = { [weak self] _ in self?.leave(device, id) }
        former?.replacement.yield()
        former?.replacement.finish()
        return replaced
    }

    private func leave(_ device: String, _ id: Int) {
        state.withLock { state in
            if state.open[device]?.id == id { state.open[device] = nil }
        }
    }
}
