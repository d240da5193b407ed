import AsyncHTTPClient
import Contracts
import NIOCore
import NIOHTTP1
import NIOSSL
import TransferCore

/// A connection for one request and its response.
struct OriginConnection: Sendable {
    private let destination: Destination
    private let verification: CertificateVerification
    private let shaper: Shaper?
    private let idleTimeout: TimeAmount
    private let trustRoots: NIOSSLTrustRoots
    /// The addresses to try in order; nil to resolve the name.
    private let addresses: [String?]

    /// - Throws: `originNotAllowed` or `hostNotFound`.
    init(
        to destination: Destination, by way: AllowedOrigins.Way, verifying verification: CertificateVerification,
        idleTimeout: TimeAmount, trustRoots: NIOSSLTrustRoots, shaper: Shaper?
    ) throws(FetchFailure) {
        switch way {
        case .direct: addresses = [nil]
        case .pinned(let pinned): addresses = pinned
        case .refused: throw FetchFailure(.originNotAllowed)
        case .unresolvable: throw FetchFailure(.hostNotFound)
        }
        self.destination = destination
        self.verification = verification
        self.idleTimeout = idleTimeout
        self.trustRoots = trustRoots
        self.shaper = shaper
    }

    /// An address refuses connections or does not answer.
    private struct Unreached: Error { let failure: FetchFailure }

    /// Sends a request and calls `body` with the response while it arrives. The connection closes at the end.
    ///
    /// - Throws: ``PeerCertificate`` if it is not trusted, ``StorageError`` if the body can't be read,
    ///   ``FetchFailure``, the errors of `body`.
    func exchange<Outcome>(
        _ request: FetchRequest, _ body: (HTTPClientResponse) async throws -> Outcome
    ) async throws -> Outcome {
        try await shaper?.connect()
        var unreached = FetchFailure(.cannotConnect)
        for address in addresses {
            do { return try await exchange(request, at: address, body) } catch let error as Unreached {
                // A timeout of one address outweighs the failures of the others, because its server may exist.
                if unreached.end != .timedOut { unreached = error.failure }
            }
        }
        throw unreached
    }

    private func exchange<Outcome>(
        _ request: FetchRequest, at address: String?, _ body: (HTTPClientResponse) async throws -> Outcome
    ) async throws -> Outcome {
        var wire = HTTPClientRequest(url: destination.url)
        wire.method = request.method
        wire.headers = request.headers
        do { return try await send(wire, of: request, at: address, body) } catch is OthersFailure {
            return try await send(wire, of: request, at: address, isAlone: true, body)
        }
    }

    /// The failure may belong to the connection of another request.
    private struct OthersFailure: Error {}

    private func send<Outcome>(
        _ wire: HTTPClientRequest, of request: FetchRequest, at address: String?, isAlone: Bool = false,
        _ body: (HTTPClientResponse) async throws -> Outcome
    ) async throws -> Outcome {
        let flow = request.body.map { _ in BodyFlow() }
        let requests = HTTPClients.shared.requests
        let name = requests.add(RunningRequest(onInterim: request.onInterim, flow: flow))
        defer { requests.remove(name) }
        var wire = wire
        wire.headers.replaceOrAdd(name: RunningRequests.field, value: name)
        if let flow { wire.body = request.body?.stream(shaped: shaper, flow) }
        let meter = request.body?.meter
        let tries = meter?.tries
        return try await withClient(verification, address, isAlone: isAlone) { [wire] client in
            let response: HTTPClientResponse
            do { response = try await client.execute(wire, deadline: .distantFuture) } catch {
                try Task.checkCancellation()
                // A request that has begun to send its body has its own connection.
                if destination.isSecure, !isAlone, meter?.tries == tries, HTTPClients.shared.isShared(client) {
                    throw OthersFailure()
                }
                if PeerCertificate.isMissing(in: error) { throw try await peerCertificate(at: address) }
                // Not failures of the network: an untrusted certificate, a body that can't be read.
                if error is PeerCertificate || (error as? StorageError).map({ $0 != .missing }) == true { throw error }
                let failure = FetchFailure(network: error)
                if failure.end == .cannotConnect || FetchFailure.isOfConnecting(error) {
                    throw Unreached(failure: failure)
                }
                throw failure
            }
            HTTPClients.shared.hasConnected(client)
            return try await body(response)
        }
    }

    /// Returns the certificate of the server, or the failure to get it. Sends no request.
    private func peerCertificate(at address: String?) async throws -> any Error {
        do {
            return try await withClient(.none, address, isAlone: true) { client in
                _ = try await client.execute(HTTPClientRequest(url: destination.url), deadline: .distantFuture)
                return FetchFailure(.secureConnectionFailed)
            }
        } catch let certificate as PeerCertificate { return certificate } catch {
            try Task.checkCancellation()
            return FetchFailure(network: error)
        }
    }

    /// The connect timeout of one address. All addresses together may take the idle timeout.
    private var connectTimeout: TimeAmount {
        min(HTTPClients.connectTimeout, .nanoseconds(idleTimeout.nanoseconds / Int64(max(1, addresses.count))))
    }

    private func withClient<Outcome>(
        _ verification: CertificateVerification, _ address: String?, isAlone: Bool,
        _ body: (HTTPClient) async throws -> Outcome
    ) async throws -> Outcome {
        let kind = HTTPClients.Kind(
            host: destination.origin.host, isSecure: destination.isSecure, address: address,
            verification: verification, idleTimeout: idleTimeout, connectTimeout: connectTimeout,
            trustRoots: trustRoots)
        return try await HTTPClients.shared.withClient(kind, isAlone: isAlone, body)
    }
}
