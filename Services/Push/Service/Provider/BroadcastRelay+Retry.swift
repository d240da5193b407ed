import Contracts
import Logging
import Postgres
import Runtime
import Telemetry

// Broadcasts that wait for a device.
extension BroadcastRelay {
    /// Submits the undelivered broadcasts that are due.
    ///
    /// A failing device does not end the retry of the others. A lost database does.
    func retry() async {
        do {
            while true {
                let due = try await store.claimUndelivered(limit: Self.deviceLimit)
                for device in due {
                    do {
                        try await retry(device)
                    } catch {
                        guard !Self.endsRetry(error) else { throw error }
                        logger.warning(
                            "failed to retry undelivered broadcast, will retry",
                            metadata: Self.metadata(of: device, error: "\(error)"))
                    }
                }
                if due.isEmpty { break }
            }
            metrics.set(.broadcastsUndelivered, to: Double(try await store.undelivered()))
        } catch {
            guard !Task.isCancelled else { return }
            logger.warning("failed to retry undelivered broadcasts, will retry", error: error)
        }
    }

    private func retry(_ device: PushStore.Undelivered) async throws {
        guard !device.isExpired else {
            try await drop(device)
            return
        }
        switch try await outcome(of: device) {
        case .taken, .stranger: try await store.settle(device)
        case .undelivered(let reason) where device.isOverdue: try await giveUp(device, reason)
        case .undelivered(let reason): try await store.note(reason, device)
        }
    }

    /// - Throws: an error that concerns all devices. Any other error keeps the broadcast for this device.
    private func outcome(of device: PushStore.Undelivered) async throws -> Outcome {
        do {
            return try await submit(device.relay, to: device.key)
        } catch {
            guard !Self.endsRetry(error) else { throw error }
            return .undelivered("\(error)")
        }
    }

    /// Drops a broadcast that APNs would not deliver any more.
    private func drop(_ device: PushStore.Undelivered) async throws {
        guard try await store.settle(device) else { return }
        metrics.add(to: .broadcastsDropped, ["reason": "expired"])
        logger.notice("dropped expired broadcast", metadata: Self.metadata(of: device))
    }

    private func giveUp(_ device: PushStore.Undelivered, _ reason: String) async throws {
        guard try await store.giveUp(device, reason) else { return }
        metrics.add(to: .broadcastsDropped, ["reason": "gave_up"])
        logger.error("gave up on broadcast, device misses it", metadata: Self.metadata(of: device, error: reason))
    }

    /// Whether an error concerns all devices: the process stops, or the database is lost.
    private static func endsRetry(_ error: any Error) -> Bool {
        if Task.isCancelled || error is CancellationError { return true }
        if let fault = error as? PostgresError {
            return fault.isConnectionProblem || fault == .closed || fault == .cancelled
        }
        guard let refusal = error as? RuntimeError else { return false }
        switch refusal {
        case .stopping, .eventsLost, .databaseUnavailable, .outcomeUnknown: return true
        case .overloaded, .behind, .failed, .idempotencyConflict, .parked, .newerState, .malformedState,
            .stateTooLarge:
            return false
        }
    }

    private static func metadata(
        of device: PushStore.Undelivered, error: String? = nil
    ) -> Logger.Metadata {
        var metadata: Logger.Metadata = [LogKey.device: "\(device.key)", LogKey.broadcast: "\(device.relay.broadcast)"]
        if let error { metadata[LogKey.error] = "\(error)" }
        return metadata
    }
}

extension Metric {
    static let broadcastsUndelivered = Metric(
        "dormouse_push_broadcasts_undelivered",
        "Broadcasts that wait for a device, one count for each device, over all replicas.", .gauge)
    static let broadcastsDropped = Metric(
        "dormouse_push_broadcasts_dropped_total",
        "Broadcasts that a device misses, over all devices, by reason: expired, or gave_up.", .counter)
}
