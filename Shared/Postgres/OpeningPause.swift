import Synchronization

/// The pause between attempts to open a connection while the server refuses them. One caller tries at a time, so that
/// waiting callers do not overload a restarting server.
final class OpeningPause: Sendable {
    /// The first pause after a failure. Each further failure doubles it.
    static let shortest = Duration.milliseconds(25)
    static let longest = Duration.milliseconds(400)

    private struct Failures {
        var count = 0
        var newest: PostgresError
        var pause: Duration
        /// The next attempt, or the next check of the current attempt.
        var next: ContinuousClock.Instant
    }

    /// Nil if the newest attempt succeeded.
    private let failures = Mutex<Failures?>(nil)

    /// Opens a connection after the pause of the last failure.
    ///
    /// - Throws: the error of `body`, also to callers that wait for the attempt of another; `cancelled`.
    func opening<Member>(_ body: () async throws(PostgresError) -> Member) async throws(PostgresError) -> Member {
        try await waitForTurn()
        do throws(PostgresError) {
            let member = try await body()
            failures.withLock { $0 = nil }
            return member
        } catch {
            failures.withLock { failures in
                let pause = failures.map { min($0.pause * 2, Self.longest) } ?? Self.shortest
                let count = (failures?.count ?? 0) + 1
                failures = Failures(count: count, newest: error, pause: pause, next: .now + pause)
            }
            throw error
        }
    }

    private func waitForTurn() async throws(PostgresError) {
        guard let first = failures.withLock({ $0 }) else { return }
        var next = first.next
        while true {
            do { try await Task.sleep(until: next, clock: .continuous) } catch { throw .cancelled }
            let later = try failures.withLock { failures throws(PostgresError) -> ContinuousClock.Instant? in
                guard let now = failures else { return nil }
                guard now.count == first.count else { throw now.newest }
                guard now.next <= .now else { return now.next }
                failures?.next = .now + Self.shortest
                return nil
            }
            guard let later else { return }
            next = later
        }
    }
}
