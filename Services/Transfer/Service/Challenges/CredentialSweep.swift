import Contracts
import Logging
import ServiceLifecycle

/// Removes credentials that no session or task refers to.
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
                    logger.warning("failed to remove unused credentials, will retry", error: error)
                }
                try await Task.sleep(for: Self.pause)
            }
        }
    }

    /// Checks every old credential once.
    func sweep() async throws {
        var old: [(AggregateKey, String)] = []
        for partition in 0..<store.partitions {
            old += try await store.oldCredentials(of: partition, age)
        }
        guard !old.isEmpty else { return }
        let used = try await states.challenges()
        for (device, challenge) in old where used[device]?.contains(challenge) != true {
            try await store.removeCredential(device, challenge)
        }
    }
}
