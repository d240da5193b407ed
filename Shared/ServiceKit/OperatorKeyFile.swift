import Foundation
import Identity
import Logging
import ServiceLifecycle
import Synchronization
import Telemetry

/// The operators' keys of `OPERATOR_KEY_FILE`. It reads the file again every 5 s, so keys come and go without a restart.
final class OperatorKeyFile: Service {
    /// The keys for the authentication of requests.
    let keyring: OperatorKeyring
    private let configuration: ServiceConfiguration
    private let interval: Duration
    private let logger: Logger
    /// The keys of the last reading, or its fault.
    private let last: Mutex<Result<OperatorKeys, ConfigurationError>>

    /// Reads the file.
    ///
    /// - Throws: an error of one line if the file can't be read or has an invalid line.
    init(
        _ configuration: ServiceConfiguration, interval: Duration = .seconds(5), logger: Logger
    ) throws(ConfigurationError) {
        self.configuration = configuration
        self.interval = interval
        self.logger = logger
        let keys = try configuration.operatorKeys()
        keyring = OperatorKeyring(keys)
        last = Mutex(.success(keys))
    }

    /// Reads the file again. With an invalid file the previous keys stay valid, and one log line says so.
    func reload() {
        let reading = Result { () throws(ConfigurationError) in try configuration.operatorKeys() }
        let isNew = last.withLock { last in
            defer { last = reading }
            return last != reading
        }
        guard isNew else { return }
        switch reading {
        case .success(let keys):
            keyring.replace(with: keys)
            logger.info("reloaded operator keys")
        case .failure(let error):
            logger.error(
                "failed to reload operator keys, still using the previous ones",
                metadata: [LogKey.error: .string(error.description)])
        }
    }

    /// Runs until graceful shutdown or cancellation.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: self.interval)) != nil { self.reload() }
        }
    }
}
