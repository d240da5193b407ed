import Foundation
public import Logging
public import NIOSSL
public import ServiceLifecycle
import Synchronization

/// The server's certificate chain and key from PEM files. It reloads changed files for new connections.
public final class ServerCertificate: Service {
    private struct Files: Equatable {
        let chain: Data
        let key: Data
    }

    private struct State {
        var context: NIOSSLContext
        var files: Files
        /// The invalid files of the last reload.
        var doubted: Files?
        /// The invalid files that were logged.
        var refused: Files?
    }

    /// The settings that name the files, for error messages.
    public enum Names: Sendable {
        /// One setting for each file.
        case files(chain: String, key: String)
        /// One setting for a folder to which the service writes both files at its start, and their names in it.
        case folder(String, chain: String, key: String)

        static let service = Names.files(chain: "TLS_CERTIFICATE", key: "TLS_KEY")

        fileprivate enum Part { case chain, key }

        private func setting(_ part: Part) -> String {
            let name =
                switch self {
                case .files(let chain, let key): part == .chain ? chain : key
                case .folder(let folder, _, _): folder
                }
            return "\(name) (\(Setting(name, nil, "").flag))"
        }

        fileprivate func unreadable(_ part: Part) -> ConfigurationError {
            switch self {
            case .files: ConfigurationError("\(setting(part)): cannot read the file that it names")
            case .folder(_, let chain, let key):
                ConfigurationError("\(setting(part)): cannot read \(part == .chain ? chain : key) in it")
            }
        }

        fileprivate func fault(_ part: Part, _ words: String) -> ConfigurationError {
            switch self {
            case .files: ConfigurationError("\(setting(part)): the file \(words)")
            case .folder(_, let chain, let key):
                ConfigurationError("\(setting(part)): \(part == .chain ? chain : key) in it \(words)")
            }
        }

        fileprivate var mismatch: ConfigurationError {
            switch self {
            case .files(let chain, _):
                ConfigurationError("\(setting(.key)) is not the key of \(chain): use a certificate and its own key")
            case .folder(_, let chain, let key):
                ConfigurationError(
                    "\(setting(.key)): \(key) in it is not the key of \(chain): remove both, and start again")
            }
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
        chainFile: String, keyFile: String, interval: Duration = .seconds(5), names: Names? = nil, logger: Logger,
        adapt: @escaping @Sendable (inout TLSConfiguration) -> Void = { $0.applicationProtocols = ["http/1.1"] }
    ) throws(ConfigurationError) {
        let names = names ?? .service
        self.names = names
        self.adapt = adapt
        self.chainFile = chainFile
        self.keyFile = keyFile
        self.interval = interval
        self.logger = logger
        let files = try Self.read(chainFile, keyFile, names)
        state = Mutex(State(context: try Self.context(files, names, adapt), files: files))
    }

    /// The TLS context for new connections.
    public var context: NIOSSLContext { state.withLock { $0.context } }

    /// Reads the files again. An invalid pair is ignored.
    ///
    /// An operator replaces one file before the other, so an invalid pair is logged only when it is found again.
    ///
    /// - Returns: whether the certificate has changed.
    @discardableResult
    public func reload() -> Bool {
        var read: Files?
        do throws(ConfigurationError) {
            let files = try Self.read(chainFile, keyFile, names)
            read = files
            guard state.withLock({ $0.files != files }) else {
                state.withLock { ($0.doubted, $0.refused) = (nil, nil) }
                return false
            }
            let context = try Self.context(files, names, adapt)
            state.withLock { $0 = State(context: context, files: files) }
            logger.info("reloaded certificate")
            return true
        } catch {
            let files = read ?? Files(chain: Data(), key: Data())
            let isToSay = state.withLock { state in
                defer { state.doubted = files }
                guard state.doubted == files, state.refused != files else { return false }
                state.refused = files
                return true
            }
            if isToSay {
                logger.error("failed to reload certificate, still using the previous one", error: error)
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
            throw names.unreadable(.chain)
        }
        guard let key = FileManager.default.contents(atPath: keyFile) else {
            throw names.unreadable(.key)
        }
        return Files(chain: chain, key: key)
    }

    private static func context(
        _ files: Files, _ names: Names, _ adapt: (inout TLSConfiguration) -> Void
    ) throws(ConfigurationError) -> NIOSSLContext {
        guard let chain = try? NIOSSLCertificate.fromPEMBytes(Array(files.chain)), !chain.isEmpty else {
            throw names.fault(.chain, "has no certificate in PEM")
        }
        guard let key = try? NIOSSLPrivateKey(bytes: Array(files.key), format: .pem) else {
            throw names.fault(.key, "has no private key in PEM without a password")
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        adapt(&configuration)
        do { return try NIOSSLContext(configuration: configuration) } catch {
            throw names.mismatch
        }
    }
}

extension ServiceConfiguration {
    /// Reads the certificate of `TLS_CERTIFICATE` and `TLS_KEY`; returns nil if both are unset: HTTP without TLS.
    public func serverCertificate(logger: Logger) throws(ConfigurationError) -> ServerCertificate? {
        switch (self["TLS_CERTIFICATE"], self["TLS_KEY"]) {
        case (nil, nil): return nil
        case (let chain?, let key?):
            return try ServerCertificate(chainFile: chain, keyFile: key, logger: logger)
        default:
            throw ConfigurationError("TLS_CERTIFICATE (--tls-certificate) and TLS_KEY (--tls-key) must be set together")
        }
    }
}
