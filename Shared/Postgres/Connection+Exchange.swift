import CLibpq
import Dispatch

/// The I/O loop: sends libpq's buffered data, reads the answers, and passes on each result.
extension Connection {
    enum Progress {
        case more
        case finished
        /// The answers violate the protocol; the session is closed.
        case broken
    }

    /// The longest time for a cancel request to stop the server; then the session is closed.
    static let cancelPatience = Duration.seconds(5)
    /// The interval of cancel requests. One between two statements has no effect, so it is repeated.
    static let cancelInterval = Duration.milliseconds(200)
    /// The time of a blocking wait in milliseconds. Most answers arrive within it, which saves two thread switches. It
    /// blocks only this connection's thread, and delays a cancellation by at most this time.
    static let quickWait: Int32 = 10
    /// The number of extra reads of an encrypted connection. `PQconsumeInput` reads at least 8 KiB of a TLS record,
    /// which has at most 16 KiB.
    static let extraLooks = 2
    /// The longest time that bytes can stay unread inside OpenSSL. Data that OpenSSL already holds make no socket
    /// readable.
    static let extraLookInterval = Duration.milliseconds(100)

    /// Sends and receives until `take` returns `finished`. `take` gets the results of `PQgetResult`; nil ends a
    /// statement.
    /// - Parameters:
    ///   - shielded: continue in a cancelled task.
    ///   - deadline: the time at which the session is closed.
    /// - Returns: whether a cancel request was sent.
    func exchange(
        _ session: Session, shielded: Bool, deadline: ContinuousClock.Instant?, _ take: (OpaquePointer?) -> Progress
    ) async throws(PostgresError) -> Bool {
        try await withCancellationWake { () throws(PostgresError) in
            try await pump(session, shielded: shielded, deadline: deadline, take)
        }
    }

    /// Runs `body`. Cancellation resumes the task that waits for the socket, which then handles it. (The library's
    /// cancellation handler has no typed errors, hence the `Result`.)
    func withCancellationWake<Value: Sendable>(
        _ body: () async throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        let outcome: Result<Value, PostgresError> = await withTaskCancellationHandler {
            do throws(PostgresError) {
                return .success(try await body())
            } catch {
                return .failure(error)
            }
        } onCancel: {
            wakeSoon()
        }
        return try outcome.get()
    }

    private func pump(
        _ session: Session, shielded: Bool, deadline: ContinuousClock.Instant?, _ take: (OpaquePointer?) -> Progress
    ) async throws(PostgresError) -> Bool {
        let start = ContinuousClock.now
        var deadline = deadline
        var nextCancel: ContinuousClock.Instant?
        while true {
            let unsent = PQflush(session.pointer)
            guard unsent >= 0 else { throw lost("sending failed") }
            if !session.poll(write: unsent > 0, milliseconds: Self.quickWait) {
                if let deadline { setAlarm(deadline) }
                if session.isEncrypted { setAlarm(.now + Self.extraLookInterval) }
                await ready(session, write: unsent > 0)
                guard self.session === session else { throw lost("the session was closed") }
            }
            for _ in 0...(session.isEncrypted ? Self.extraLooks : 0) {
                guard PQconsumeInput(session.pointer) == 1 else { throw lost("the server ended the session") }
                while PQisBusy(session.pointer) == 0 {
                    switch take(PQgetResult(session.pointer)) {
                    case .more: guard !session.isBad else { throw lost("the server ended the session") }
                    case .finished:
                        if nextCancel != nil { try await settleCancels(before: deadline) }
                        return nextCancel != nil
                    case .broken: throw lost("the server's answers violate the protocol")
                    }
                }
            }
            if !shielded, Task.isCancelled, nextCancel ?? .now <= .now {
                if nextCancel == nil {
                    deadline = min(deadline ?? .now + Self.cancelPatience, .now + Self.cancelPatience)
                    wakeSoon(at: .now + Self.cancelPatience)
                }
                nextCancel = .now + Self.cancelInterval
                wakeSoon(at: .now + Self.cancelInterval)
                requestCancel(session)
            }
            if let deadline, deadline <= .now {
                drop("the server did not answer in time")
                throw .timedOut(after: start.duration(to: .now))
            }
        }
    }

    /// Sets the timer that ends a wait for the socket. A later wait uses an earlier timer, and sets it again if it
    /// fires too early. So a connection has one timer for all its calls.
    private func setAlarm(_ time: ContinuousClock.Instant) {
        if let alarm, alarm <= time { return }
        alarm = time
        let wait = max(ContinuousClock.now.duration(to: time), .zero)
        executor.queue.asyncAfter(deadline: .now() + wait.dispatchInterval) { [weak self] in
            self?.assumeIsolated { connection in
                if connection.alarm == time { connection.alarm = nil }
                connection.wake()
            }
        }
    }

    func lost(_ reason: String) -> PostgresError {
        drop(reason)
        return .connectionLost(duringPipeline: true)
    }

    /// Resumes when the socket is ready, on ``wake()``, and sometimes spuriously.
    func ready(_ session: Session, read: Bool = true, write: Bool) async {
        await withCheckedContinuation { continuation in
            waiter = continuation
            session.watch.arm(read: read, write: write)
        }
    }

    func wake() {
        guard let waiting = waiter else { return }
        waiter = nil
        waiting.resume()
    }

    nonisolated func wakeSoon() {
        executor.queue.async { [weak self] in self?.assumeIsolated { $0.wake() } }
    }

    nonisolated func wakeSoon(at time: ContinuousClock.Instant) {
        let wait = max(ContinuousClock.now.duration(to: time), .zero)
        executor.queue.asyncAfter(deadline: .now() + wait.dispatchInterval) { [weak self] in
            self?.assumeIsolated { $0.wake() }
        }
    }

    private func requestCancel(_ session: Session) {
        guard cancelsUnderWay == 0, let canceller = session.canceller else { return }
        cancelsUnderWay += 1
        canceller.request { [weak self] in self?.cancelReturned() }
    }

    private nonisolated func cancelReturned() {
        executor.queue.async { [weak self] in
            self?.assumeIsolated {
                $0.cancelsUnderWay -= 1
                $0.wake()
            }
        }
    }

    /// Waits for cancel requests under way: they would cancel the next pipeline.
    private func settleCancels(before deadline: ContinuousClock.Instant?) async throws(PostgresError) {
        while cancelsUnderWay > 0 {
            if let deadline, deadline <= .now { throw lost("a cancel request did not return") }
            await withCheckedContinuation { waiter = $0 }
        }
    }
}

extension Duration {
    /// The duration, rounded up to the microsecond, so that a timer never fires early.
    var dispatchInterval: DispatchTimeInterval {
        let (seconds, attoseconds) = components
        guard seconds < 1 << 40 else { return .never }
        return .microseconds(Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000) + 1)
    }
}
