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
        for (device, challenge) in credentials where used[device]?.contains(challenge) != true {
            try await store.removeCredential(device, challenge)
        }
        for (device, id) in headers where used[device]?.contains(id) != true {
            try await store.removeHeaders(device, id)
        }
    }
}
