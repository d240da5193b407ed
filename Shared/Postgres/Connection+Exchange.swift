import CLibpq
import Dispatch

/// The I/O shell: sends what libpq holds, reads what comes, hands every result on.
extension Connection {
    enum Progress {
        case more
        case finished
        /// The answers make no sense; the session is given up.
        case broken
    }

    /// How long a task's cancellation may take to stop the server before the session is given up.
    static let cancelPatience = Duration.seconds(5)
    /// A cancel request that reaches the server between two statements is lost, so it is repeated.
    static let cancelInterval = Duration.milliseconds(200)
    /// Most answers come within some milliseconds: waiting for them in the kernel spares two thread switches. Only this
    /// connection's own thread waits; a cancellation may come so much later.
    static let quickWait: Int32 = 10
    /// `PQconsumeInput` reads at least 8 KiB of a TLS record, which has at most 16 KiB. So a second look reads the
    /// rest.
    static let extraLooks = 2
    /// The longest time that bytes can stay unseen inside OpenSSL. A record that arrives between two looks makes no
    /// socket readable.
    static let extraLookInterval = Duration.milliseconds(100)

    /// Runs until `take` says finished. `take` gets what `PQgetResult` returns; nil is the end of a statement.
    /// - Parameters:
    ///   - shielded: go on in a cancelled task.
    ///   - deadline: then the session is given up.
    /// - Returns: whether the server was asked to cancel.
    func exchange(
        _ session: Session, shielded: Bool, deadline: ContinuousClock.Instant?, _ take: (OpaquePointer?) -> Progress
    ) async throws(PostgresError) -> Bool {
        try await withCancellationWake { () throws(PostgresError) in
            try await pump(session, shielded: shielded, deadline: deadline, take)
        }
    }

    /// Cancellation wakes whoever waits for the socket, who then sees to it. (The library's own handler knows no typed
    /// errors, hence the detour over `Result`.)
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
                guard self.session === session else { throw lost("the session was given up") }
            }
            for _ in 0...(session.isEncrypted ? Self.extraLooks : 0) {
                guard PQconsumeInput(session.pointer) == 1 else { throw lost("the server ended the session") }
                while PQisBusy(session.pointer) == 0 {
                    switch take(PQgetResult(session.pointer)) {
                    case .more: guard !session.isBad else { throw lost("the server ended the session") }
                    case .finished:
                        if nextCancel != nil { try await settleCancels(before: deadline) }
                        return nextCancel != nil
                    case .broken: throw lost("the server's answers make no sense")
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
                drop("no answer in time")
                throw .timedOut(after: start.duration(to: .now))
            }
        }
    }

    /// Sets the timer that wakes a wait on the socket at a moment. A later call uses the timer of an earlier one: if it
    /// wakes too early, it sets the timer again. So a connection has one timer for all its calls.
    private func setAlarm(_ moment: ContinuousClock.Instant) {
        if let alarm, alarm <= moment { return }
        alarm = moment
        let wait = max(ContinuousClock.now.duration(to: moment), .zero)
        executor.queue.asyncAfter(deadline: .now() + wait.dispatchInterval) { [weak self] in
            self?.assumeIsolated { connection in
                if connection.alarm == moment { connection.alarm = nil }
                connection.wake()
            }
        }
    }

    func lost(_ reason: String) -> PostgresError {
        drop(reason)
        return .connectionLost(duringFlight: true)
    }

    /// Resumes on readiness, on ``wake()``, and now and then for nothing.
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

    nonisolated func wakeSoon(at moment: ContinuousClock.Instant) {
        let wait = max(ContinuousClock.now.duration(to: moment), .zero)
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

    /// A cancel request still on its way would hit the next flight.
    private func settleCancels(before deadline: ContinuousClock.Instant?) async throws(PostgresError) {
        while cancelsUnderWay > 0 {
            if let deadline, deadline <= .now { throw lost("a cancel request did not return") }
            await withCheckedContinuation { waiter = $0 }
        }
    }
}

extension Duration {
    /// Rounded up to the microsecond, so that a timer never fires before its moment.
    var dispatchInterval: DispatchTimeInterval {
        let (seconds, attoseconds) = components
        guard seconds < 1 << 40 else { return .never }
        return .microseconds(Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000) + 1)
    }
}
