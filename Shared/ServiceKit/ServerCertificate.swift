import Foundation
public import Logging
public import NIOSSL
public import ServiceLifecycle
import Synchronization

/// The server's certificate chain and key, read from PEM files, and read again when they change: without a restart, and
/// without a word to those who are connected.
public final class ServerCertificate: Service {
    private struct Files: Equatable {
        let chain: Data
        let key: Data
    }

    private struct State {
        var context: NIOSSLContext
        var files: Files
        /// What was read last and can't be used; said once.
        var refused: Files?
    }

    /// The settings that name the files: for what is said of them.
    public struct Names: Sendable {
        public let chain: String
        public let key: String

        public init(chain: String, key: String) {
            self.chain = chain
            self.key = key
        }

        static let service = Names(chain: "TLS_CERTIFICATE", key: "TLS_KEY")

        fileprivate func fault(_ name: String, _ words: String) -> ConfigurationError {
            ConfigurationError("\(name) (\(Setting(name, nil, "").flag))\(words)")
        }
    }

    private let chainFile: String
    private let keyFile: String
    private let names: Names
    private let adapt: @Sendable (inout TLSConfiguration) -> Void
    private let interval: Duration
    private let logger: Logger
    private let state: Mutex<State>

    /// - Parameters:
    ///   - chainFile: the certificate, then those that lead to its root, in PEM.
    ///   - keyFile: its private key in PEM, without a password.
    ///   - interval: how often the files are looked at.
    ///   - adapt: what is not as it is for a service's HTTP/1.1.
    /// - Throws: where they can't be read, are no PEM, or do not belong together, in one line.
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

    /// What the next connection is served with.
    public var context: NIOSSLContext { state.withLock { $0.context } }

    /// Looks at the files. A pair that can't be used is logged once, and the former one stays.
    ///
    /// - Returns: whether there is another certificate now.
    @discardableResult
    public func reload() -> Bool {
        var read: Files?
        do throws(ConfigurationError) {
            let files = try Self.read(chainFile, keyFile, names)
            read = files
            guard state.withLock({ $0.files != files }) else {
                state.withLock { $0.refused = nil }
                return false
            }
            let context = try Self.context(files, names, adapt)
            state.withLock { $0 = State(context: context, files: files) }
            logger.info("another certificate is served from now on")
            return true
        } catch {
            let files = read ?? Files(chain: Data(), key: Data())
            let isNew = state.withLock { state in
                defer { state.refused = files }
                return state.refused != files
            }
            if isNew {
                logger.error(
                    "the changed certificate can't be served, the former one stays",
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
            throw names.fault(names.chain, ": cannot read the file that it names")
        }
        guard let key = FileManager.default.contents(atPath: keyFile) else {
            throw names.fault(names.key, ": cannot read the file that it names")
        }
        return Files(chain: chain, key: key)
    }

    private static func context(
        _ files: Files, _ names: Names, _ adapt: (inout TLSConfiguration) -> Void
    ) throws(ConfigurationError) -> NIOSSLContext {
        guard let chain = try? NIOSSLCertificate.fromPEMBytes(Array(files.chain)), !chain.isEmpty else {
            throw names.fault(names.chain, ": the file has no certificate in PEM")
        }
        guard let key = try? NIOSSLPrivateKey(bytes: Array(files.key), format: .pem) else {
            throw names.fault(names.key, ": the file has no private key in PEM without a password")
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        adapt(&configuration)
        do { return try NIOSSLContext(configuration: configuration) } catch {
            throw names.fault(names.key, " is not the key of \(names.chain): give the two of one pair")
        }
    }
}

extension ServiceConfiguration {
    /// The certificate of `TLS_CERTIFICATE` and `TLS_KEY`; nil where they are unset, and HTTP is served in the clear.
    public func serverCertificate(logger: Logger) throws(ConfigurationError) -> ServerCertificate? {
        switch (self["TLS_CERTIFICATE"], self["TLS_KEY"]) {
        case (nil, nil): return nil
        case (let chain?, let key?):
            return try ServerCertificate(chainFile: chain, keyFile: key, logger: logger)
        default:
            throw ConfigurationError("TLS_CERTIFICATE (--tls-certificate) and TLS_KEY (--tls-key) need one another")
        }
    }
}
