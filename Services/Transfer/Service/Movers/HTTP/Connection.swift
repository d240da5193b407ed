import AsyncHTTPClient
import Contracts
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import TransferMachine

/// A connection for one request and its answer.
struct Connection: Sendable {
    /// TCP and TLS together.
    static let connectTimeout = TimeAmount.seconds(10)

    private let destination: Destination
    private let verification: CertificateVerification
    private let shaper: Shaper?
    private let idleTimeout: TimeAmount
    private let trustRoots: NIOSSLTrustRoots
    /// The address that was looked at; nil where the name may be resolved as usual.
    private let address: String?

    /// - Throws: where the origin may not be connected to.
    init(
        to destination: Destination, by way: AllowedOrigins.Way, verifying verification: CertificateVerification,
        idleTimeout: TimeAmount, trustRoots: NIOSSLTrustRoots, shaper: Shaper?
    ) throws(FetchFailure) {
        switch way {
        case .direct: address = nil
        case .pinned(let pinned): address = pinned
        case .refused: throw FetchFailure(.originNotAllowed)
        case .unresolvable: throw FetchFailure(.hostNotFound)
        }
        self.destination = destination
        self.verification = verification
        self.idleTimeout = idleTimeout
        self.trustRoots = trustRoots
        self.shaper = shaper
    }

    /// Sends a request, and hands the answer over while it arrives. The connection is closed at the end.
    ///
    /// - Throws: ``PeerCertificate`` where the server's is not trusted, ``FetchFailure``, ``StorageError`` where the body
    ///   can't be read, what `body` throws.
    func exchange<Outcome>(
        _ request: FetchRequest, _ body: (HTTPClientResponse) async throws -> Outcome
    ) async throws -> Outcome {
        try await shaper?.connect()
        var wire = HTTPClientRequest(url: destination.url)
        wire.method = request.method
        wire.headers = request.headers
        wire.body = request.body?.stream(shaped: shaper)
        return try await withClient(verification) { client in
            let response: HTTPClientResponse
            do { response = try await client.execute(wire, deadline: .distantFuture) } catch {
                try Task.checkCancellation()
                if PeerCertificate.isMissing(in: error) { throw try await peerCertificate() }
                // Not the network's: a certificate to be asked about, a body that can't be read.
                if error is PeerCertificate || (error as? StorageError).map({ $0 != .missing }) == true { throw error }
                throw FetchFailure(network: error)
            }
            return try await body(response)
        }
    }

    /// The certificate that the server shows. Nothing is sent to it.
    private func peerCertificate() async throws -> any Error {
        do {
            return try await withClient(.none) { client in
                _ = try await client.execute(HTTPClientRequest(url: destination.url), deadline: .distantFuture)
                return FetchFailure(.secureConnectionFailed)
            }
        } catch let certificate as PeerCertificate { return certificate } catch {
            try Task.checkCancellation()
            return FetchFailure(network: error)
        }
    }

    /// A client of its own for each connection: time-outs, pinned addresses and trust are the client's, and shutting it down
    /// closes no connection but this one.
    private func withClient<Outcome>(
        _ verification: CertificateVerification, _ body: (HTTPClient) async throws -> Outcome
    ) async throws -> Outcome {
        let client = HTTPClient(
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton, configuration: configuration(verification))
        let outcome: Result<Outcome, any Error>
        do { outcome = .success(try await body(client)) } catch { outcome = .failure(error) }
        // Ends the connection where the answer was not read to its end. Its own failure has no bearing on the outcome.
        try? await client.shutdown()
        return try outcome.get()
    }

    private func configuration(_ verification: CertificateVerification) -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration()
        if let address { configuration.dnsOverride = [destination.origin.host: address] }
        configuration.redirectConfiguration = .disallow
        configuration.decompression = .disabled
        configuration.httpVersion = .http1Only
        configuration.timeout = .init(connect: Self.connectTimeout)
        // Trying again is the machine's: it says so in the log.
        configuration.connectionPool.retryConnectionEstablishment = false
        var tls = TLSConfiguration.makeClientConfiguration()
        // As App Transport Security wants it.
        tls.minimumTLSVersion = .tlsv12
        tls.trustRoots = trustRoots
        tls.certificateVerification = verification == .system ? .fullVerification : .none
        configuration.tlsConfiguration = tls
        let isSecure = destination.origin.scheme == "https"
        configuration.http1_1ConnectionDebugInitializer = { [idleTimeout] channel in
            // Before anything is sent.
            channel.eventLoop.submit {
                let pipeline = channel.pipeline.syncOperations
                do {
                    if isSecure { try verification.verify(pipeline.nioSSL_peerCertificate()) }
                    try pipeline.addHandler(IdleHandler(idleTimeout), position: .first)
                } catch {
                    channel.close(promise: nil)
                    throw error
                }
            }
        }
        return configuration
    }
}
