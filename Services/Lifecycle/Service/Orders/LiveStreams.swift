import Synchronization

/// The live order streams of this process, one for each device. A new stream replaces the old one.
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

    /// The number of open streams.
    var count: Int { state.withLock { $0.open.count } }

    /// Begins a stream for a device.
    ///
    /// - Returns: yields once when another stream replaces this one. Its release ends the stream.
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

    /// Ends the stream of a device, so that its client connects again.
    func end(_ device: String) {
        let open = state.withLock { $0.open[device] }
        open?.replacement.yield()
        open?.replacement.finish()
    }

    private func leave(_ device: String, _ id: Int) {
        state.withLock { state in
            if state.open[device]?.id == id { state.open[device] = nil }
        }
    }
}
