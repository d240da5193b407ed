import Contracts
import Logging
import ServiceLifecycle

/// Removes credentials and secret header fields that no session or task refers to.
struct CredentialSweep: Service {
    private static let pause = Duration.seconds(3600)

    let store: TransferStore
    let states: FileReferences
    /// A command may be about to refer to a younger credential.
    var age = Duration.seconds(3600)
    let logger: Logger

    /// Runs until graceful shutdown or cancellation.
    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                do { try await sweep() } catch {
                    logger.warning("failed to remove unused secrets, will retry", error: error)
                }
                try await Task.sleep(for: Self.pause)
            }
        }
    }

    /// Checks every old credential and header field once.
    func sweep() async throws {
        var credentials: [(AggregateKey, String)] = []
        var headers: [(AggregateKey, String)] = []
        for partition in 0..<store.partitions {
            credentials += try await store.oldCredentials(of: partition, age)
            headers += try await store.oldHeaders(of: partition, age)
        }
        guard !credentials.isEmpty || !headers.isEmpty else { return }
        let used = try await states.secrets()
        /// Whether a state refers to a secret, or may do so because it is unreadable. A device without a state refers to
        /// none.
        func isUsed(_ id: String, by device: AggregateKey) -> Bool {
            guard let ids = used[device] else { return false }
            return ids?.contains(id) ?? true
        }
        for (device, challenge) in credentials where !isUsed(challenge, by: device) {
            try await store.removeCredential(device, challenge)
        }
        for (device, id) in headers where !isUsed(id, by: device) { try await store.removeHeaders(device, id) }
    }
}
