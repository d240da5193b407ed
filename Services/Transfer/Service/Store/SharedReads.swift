import Synchronization

/// Reads many keys with few queries: callers that come while a query is under way share the next one.
///
/// So a crowd of readers takes one connection of the pool, and each caller sees everything that was committed before its
/// call. No task runs in the background: the first caller of each query executes it for the others.
final class SharedReads<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private enum Turn: Sendable {
        case value(Result<Value?, any Error>)
        /// The caller executes the next query.
        case lead
    }

    private typealias Caller = CheckedContinuation<Turn, Never>

    private struct State {
        var isReading = false
        var waiting: [(key: Key, caller: Caller)] = []
    }

    private let limit: Int
    private let read: @Sendable ([Key]) async throws -> [Key: Value]
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: the most keys of a query.
    ///   - read: reads the values of distinct keys; without those that do not exist.
    init(limit: Int = 500, read: @escaping @Sendable ([Key]) async throws -> [Key: Value]) {
        self.limit = limit
        self.read = read
    }

    /// Returns the value of a key; nil if it does not exist.
    ///
    /// - Throws: the error of the query. A cancelled caller cancels its query, but not the others.
    func value(of key: Key) async throws -> Value? {
        let turn = await withCheckedContinuation { caller in
            let mayLead = state.withLock { state in
                guard state.isReading else {
                    state.isReading = true
                    return true
                }
                state.waiting.append((key, caller))
                return false
            }
            if mayLead { caller.resume(returning: .lead) }
        }
        switch turn {
        case .value(let result): return try result.get()
        case .lead: return try await lead(key)
        }
    }

    /// The number of callers that wait for a query.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Executes a query for this caller and those that wait.
    private func lead(_ own: Key) async throws -> Value? {
        let followers = state.withLock { state in
            let followers = Array(state.waiting.prefix(limit - 1))
            state.waiting.removeFirst(followers.count)
            return followers
        }
        let keys = Set(followers.map(\.key)).union([own])
        let result: Result<[Key: Value], any Error>
        do { result = .success(try await read(Array(keys))) } catch { result = .failure(error) }
        // The query of a cancelled caller says nothing about the others.
        if case .failure = result, Task.isCancelled {
            state.withLock { $0.waiting.insert(contentsOf: followers, at: 0) }
        } else {
            for (key, caller) in followers { caller.resume(returning: .value(result.map { $0[key] })) }
        }
        passLead()
        return try result.get()[own]
    }

    private func passLead() {
        let next = state.withLock { state -> Caller? in
            guard !state.waiting.isEmpty else {
                state.isReading = false
                return nil
            }
            return state.waiting.removeFirst().caller
        }
        next?.resume(returning: .lead)
    }
}
