import Contracts
import EventLog
import Logging
import ServiceLifecycle

/// Removes the secret header fields of a request when its task ends or gets another request, its app is uninstalled or its device is removed.
/// ``CredentialSweep`` finds the fields of events that no process has read.
struct HeaderRemoval: Service {
    private static let followed: Set<String> = [
        TransferEvent.TaskCompleted.type, TransferEvent.AppRemoved.type, TransferEvent.DeviceRemoved.type,
        TransferEvent.DelayedRequestAnswered.type,
    ]

    let tail: LogTail
    let store: TransferStore
    let logger: Logger

    /// Runs until graceful shutdown or cancellation.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            var positions: [Int: Int]?
            while !Task.isCancelled {
                do {
                    let start = try await start(after: positions)
                    positions = start
                    for try await event in tail.events(in: start, of: Self.followed) {
                        try await note(event)
                        positions?[event.partition] = event.offset
                    }
                } catch {
                    if Task.isCancelled { return }
                    logger.warning("failed to remove the headers of ended tasks, will retry", error: error)
                    try? await Task.sleep(for: .seconds(1))
                }
            }
        }
    }

    /// Returns the positions of the last removals, so that a failure skips no event. Returns the heads if there are no
    /// removals, or if retention has dropped the events after them.
    private func start(after positions: [Int: Int]?) async throws -> [Int: Int] {
        if let positions, try await tail.fault(of: positions) == nil { return positions }
        return try await tail.heads()
    }

    private func note(_ event: Event) async throws {
        switch try TransferEvent(type: event.type, version: event.version, data: event.data) {
        case .taskCompleted(let completed):
            if let id = completed.secretHeaders { try await store.removeHeaders(event.key, id) }
        case .delayedRequestAnswered(let answered):
            if let id = answered.secretHeaders { try await store.removeHeaders(event.key, id) }
        case .appRemoved(let removed):
            if let app = removed.app { try await store.removeHeaders(event.key, ofApp: app, before: event) }
        case .deviceRemoved: try await store.removeHeaders(event.key, ofApp: nil, before: event)
        default: break
        }
    }
}
