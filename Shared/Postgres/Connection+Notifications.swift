import CLibpq

extension Connection {
    struct Notification: Sendable {
        let channel: String
        let payload: String
    }

    /// Waits for notifications until `deadline`; returns none at the deadline.
    func notifications(until deadline: ContinuousClock.Instant) async throws(PostgresError) -> [Notification] {
        await takeTurn()
        defer { passTurn() }
        wakeSoon(at: deadline)
        return try await withCancellationWake { [self] () throws(PostgresError) in
            while true {
                let session = try liveSession()
                let found = drain(session)
                if !found.isEmpty || deadline <= .now { return found }
                guard !Task.isCancelled else { throw .cancelled }
                await ready(session, write: false)
            }
        }
    }

    private func drain(_ session: Session) -> [Notification] {
        var found: [Notification] = []
        for _ in 0..<(session.isEncrypted ? Self.extraLooks : 0) { _ = PQconsumeInput(session.pointer) }
        while let notify = PQnotifies(session.pointer) {
            found.append(
                Notification(
                    channel: String(cString: notify.pointee.relname), payload: String(cString: notify.pointee.extra)))
            PQfreemem(notify)
        }
        return found
    }
}
