import Contracts
import EventLog
import Logging
import ServiceLifecycle

/// Removes the secret header fields of a request when its task ends, its app is uninstalled or its device is removed.
/// ``CredentialSweep`` finds the fields of events that no process has read.
struct HeaderRemoval: Service {
    private static let followed: Set<String> = [
        TransferEvent.TaskCompleted.type, TransferEvent.AppRemoved.type, TransferEvent.DeviceRemoved.type,
    ]

    let tail: LogTail
    let store: TransferStore
    let logger: Logger

    /// Runs until graceful shutdown or cancellation.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    let heads = try await tail.heads()
                    for try await event in tail.events(in: heads, where: { Self.followed.contains($0.type) }) {
                        try await note(event)
                    }
                } catch {
                    if Task.isCancelled { return }
                    logger.warning("failed to remove the headers of ended tasks, will retry", error: error)
                    try? await Task.sleep(for: .seconds(1))
                }
            }
        }
    }

    private func note(_ event: Event) async throws {
        switch try TransferEvent(type: event.type, version: event.version, data: event.data) {
        case .taskCompleted(let completed):
            if let id = completed.secretHeaders { try await store.removeHeaders(event.key, id) }
        case .appRemoved(let removed):
            if let app = removed.app { try await store.removeHeaders(event.key, ofApp: app) }
        case .deviceRemoved: try await store.removeHeaders(event.key, ofApp: nil)
        default: break
        }
    }
}
