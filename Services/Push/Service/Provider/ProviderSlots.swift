import Synchronization

/// Limits the requests in progress of providers, for the whole process and for each provider.
///
/// Each connection has at most 1,000 streams, but a provider may open many connections. Apple documents no number for
/// this. Our choice: half of the process for one provider, as for a fleet or an operator.
final class ProviderSlots: Sendable {
    private struct State {
        var total = 0
        var byProvider: [String: Int] = [:]
    }

    private let limit: Int
    private let state = Mutex(State())

    /// - Parameter limit: the most requests in progress in this process, at least 2.
    init(limit: Int = 8192) { self.limit = limit }

    /// Runs `body` while the provider holds a slot.
    ///
    /// - Parameter provider: the ``ProviderGrant/actor``.
    /// - Throws: `ServiceUnavailable` if no slot is free for this provider; the error of `body`.
    func hold<T>(_ provider: String, _ body: () async throws(APNsReason) -> T) async throws(APNsReason) -> T {
        let isFree = state.withLock { state in
            let own = state.byProvider[provider, default: 0]
            guard state.total < limit, own < limit / 2 else { return false }
            state.total += 1
            state.byProvider[provider] = own + 1
            return true
        }
        guard isFree else { throw .serviceUnavailable }
        defer {
            state.withLock { state in
                state.total -= 1
                let own = state.byProvider[provider, default: 1] - 1
                state.byProvider[provider] = own > 0 ? own : nil
            }
        }
        return try await body()
    }
}
