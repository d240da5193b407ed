import Foundation
public import Logging
public import NIOSSL
public import ServiceLifecycle
import Synchronization
public import Telemetry

/// The server's certificate chain and key from PEM files. It reloads changed files for new connections.
public final class ServerCertificate: Service {
    private struct Files: Equatable {
        let chain: Data
        let key: Data
    }

    private struct State {
        var context: NIOSSLContext
        /// The first expiry in the chain, in seconds since 1970.
        var expiry: Int
        var files: Files
        /// The invalid files of the last reload, and the number of reloads that found them.
        var invalid: (files: Files, reloads: Int)?
    }

    /// The errors of the files, which name the settings.
    public struct Names: Sendable {
        fileprivate let chain: Part
        fileprivate let key: Part
        fileprivate let mismatch: String

        fileprivate struct Part {
            let unreadable: String
            let file: String
        }

        /// One setting for each file.
        public static func files(chain: String, key: String) -> Names {
            func part(_ name: String) -> Part {
                let setting = Setting.label(name)
                return Part(unreadable: "\(setting): cannot read the file that it names", file: "\(setting): the file")
            }
            return Names(
                chain: part(chain), key: part(key),
                mismatch: "\(Setting.label(key)) is not the key of \(chain): use a certificate and its own key")
        }

        /// One setting for a folder to which the service writes both files at its start, and their names in it.
        public static func folder(_ name: String, chain: String, key: String) -> Names {
            let setting = Setting.label(name)
            func part(_ file: String) -> Part {
                Part(unreadable: "\(setting): cannot read \(file) in it", file: "\(setting): \(file) in it")
            }
            return Names(
                chain: part(chain), key: part(key),
                mismatch: "\(setting): \(key) in it is not the key of \(chain): remove both, and start again")
        }
    }

    private let chainFile: String
    private let keyFile: String
    private let names: Names
    private let adapt: @Sendable (inout TLSConfiguration) -> Void
    private let interval: Duration
    private let logger: Logger
    private let state: Mutex<State>

    /// Reads the files.
    ///
    /// - Parameters:
    ///   - chainFile: the certificate and its intermediates in PEM.
    ///   - keyFile: the private key in PEM, without a password.
    ///   - interval: the time between two reloads.
    ///   - adapt: changes the TLS configuration; by default for HTTP/1.1.
    /// - Throws: an error of one line if the files can't be read, are not PEM, or do not belong together.
    public init(
        chainFile: String, keyFile: String, interval: Duration = .seconds(5),
        names: Names = .files(chain: "TLS_CERTIFICATE", key: "TLS_KEY"), logger: Logger,
        adapt: @escaping @Sendable (inout TLSConfiguration) -> Void = ServerCertificate.http1
    ) throws(ConfigurationError) {
        self.names = names
        self.adapt = adapt
        self.chainFile = chainFile
        self.keyFile = keyFile
        self.interval = interval
        self.logger = logger
        let files = try Self.read(chainFile, keyFile, names)
        state = Mutex(try Self.state(files, names, adapt))
    }

    /// Adapts a TLS configuration to HTTP/1.1.
    @Sendable public static func http1(_ configuration: inout TLSConfiguration) {
        configuration.applicationProtocols = ["http/1.1"]
    }

    /// The TLS context for new connections.
    public var context: NIOSSLContext { state.withLock { $0.context } }

    /// Adds the expiry to the metrics of a service.
    ///
    /// - Parameter port: the name of the port that has the certificate.
    public func add(to metrics: Metrics, port: String) {
        metrics.beforeOutput { metrics in
            let expiry = self.state.withLock { $0.expiry }
            metrics.set(.certificateExpires, to: Double(expiry), ["port": port])
        }
    }

    /// Reads the files again. An invalid pair is ignored.
    ///
    /// An operator replaces one file before the other, so an invalid pair is logged only when it is found again.
    ///
    /// - Returns: whether the certificate has changed.
    @discardableResult
    public func reload() -> Bool {
        var files = Files(chain: Data(), key: Data())
        do throws(ConfigurationError) {
            files = try Self.read(chainFile, keyFile, names)
            guard files != state.withLock({ $0.files }) else {
                state.withLock { $0.invalid = nil }
                return false
            }
            let fresh = try Self.state(files, names, adapt)
            state.withLock { $0 = fresh }
            logger.info("reloaded certificate")
            return true
        } catch {
            let reloads = state.withLock { state in
                let reloads = state.invalid.map { $0.files == files ? $0.reloads + 1 : 1 } ?? 1
                state.invalid = (files, reloads)
                return reloads
            }
            if reloads == 2 {
                logger.error(
                    "failed to reload certificate, still using the previous one",
                    metadata: [LogKey.error: .string(error.description)])
            }
            return false
        }
    }

    /// Runs until graceful shutdown or cancellation.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: self.interval)) != nil { self.reload() }
        }
    }

    private static func read(
        _ chainFile: String, _ keyFile: String, _ names: Names
    ) throws(ConfigurationError) -> Files {
        guard let chain = FileManager.default.contents(atPath: chainFile) else {
            throw ConfigurationError(names.chain.unreadable)
        }
        guard let key = FileManager.default.contents(atPath: keyFile) else {
            throw ConfigurationError(names.key.unreadable)
        }
        return Files(chain: chain, key: key)
    }

    private static func state(
        _ files: Files, _ names: Names, _ adapt: (inout TLSConfiguration) -> Void
    ) throws(ConfigurationError) -> State {
        guard let chain = try? NIOSSLCertificate.fromPEMBytes(Array(files.chain)), !chain.isEmpty else {
            throw ConfigurationError("\(names.chain.file) has no certificate in PEM")
        }
        guard let key = try? NIOSSLPrivateKey(bytes: Array(files.key), format: .pem) else {
            throw ConfigurationError("\(names.key.file) has no private key in PEM without a password")
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        adapt(&configuration)
        let context: NIOSSLContext
        do { context = try NIOSSLContext(configuration: configuration) } catch {
            throw ConfigurationError(names.mismatch)
        }
        return State(context: context, expiry: chain.map { Int($0.notValidAfter) }.min() ?? 0, files: files)
    }
}

/// Two settings that name the files of a certificate and its key.
public struct CertificateFiles: Sendable {
    private let settings: (chain: String, key: String)
    private let files: (chain: String?, key: String?)

    /// Whether the certificate is set.
    public var isSet: Bool { files.chain != nil }

    /// Reads the settings.
    public init(
        _ reader: SettingsReader, chain: String, _ chainSummary: String, key: String, _ keySummary: String
    ) {
        settings = (chain, key)
        files = (reader.text(chain, chainSummary), reader.text(key, keySummary))
    }

    /// Reads the files; returns nil if both settings are unset.
    ///
    /// - Parameter adapt: as in ``ServerCertificate``.
    public func certificate(
        logger: Logger, adapt: @escaping @Sendable (inout TLSConfiguration) -> Void = ServerCertificate.http1
    ) throws(ConfigurationError) -> ServerCertificate? {
        switch files {
        case (nil, nil): return nil
        case (let chainFile?, let keyFile?):
            return try ServerCertificate(
                chainFile: chainFile, keyFile: keyFile, names: .files(chain: settings.chain, key: settings.key),
                logger: logger, adapt: adapt)
        default:
            throw ConfigurationError(
                "\(Setting.label(settings.chain)) and \(Setting.label(settings.key)) must be set together")
        }
    }
}
