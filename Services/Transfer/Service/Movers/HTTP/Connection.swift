import AsyncHTTPClient
import Contracts
import NIOCore
import NIOSSL
import TransferMachine

/// A connection for one request and its answer.
struct Connection: Sendable {
    private let destination: Destination
    private let verification: CertificateVerification
    private let shaper: Shaper?
    private let idleTimeout: TimeAmount
    private let trustRoots: NIOSSLTrustRoots
    /// The addresses that were looked at, one of which is to answer; nil where the name may be resolved as usual.
    private let addresses: [String?]

    /// - Throws: where the origin may not be connected to.
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

    /// Nobody is at an address, or what is sent there is swallowed.
    private struct Unreached: Error { let failure: FetchFailure }

    /// Sends a request, and hands the answer over while it arrives. The connection is closed at the end.
    ///
    /// - Throws: ``PeerCertificate`` where the server's is not trusted, ``FetchFailure``, ``StorageError`` where the body
    ///   can't be read, what `body` throws.
    func exchange<Outcome>(
        _ request: FetchRequest, _ body: (HTTPClientResponse) async throws -> Outcome
    ) async throws -> Outcome {
        try await shaper?.connect()
        var unreached = FetchFailure(.cannotConnect)
        for address in addresses {
            do { return try await exchange(request, at: address, body) } catch let error as Unreached {
                // One that says nothing may be there; no other can take that back.
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
        wire.body = request.body?.stream(shaped: shaper)
        let meter = request.body?.meter
        do { return try await send(wire, meter, at: address, body) } catch is OthersFailure {
            return try await send(wire, meter, at: address, isAlone: true, body)
        }
    }

    /// The failure may be that of a connection that another has waited for.
    private struct OthersFailure: Error {}

    private func send<Outcome>(
        _ wire: HTTPClientRequest, _ meter: BodyMeter?, at address: String?, isAlone: Bool = false,
        _ body: (HTTPClientResponse) async throws -> Outcome
    ) async throws -> Outcome {
        let tries = meter?.tries
        return try await withClient(verification, address, isAlone: isAlone) { client in
            let response: HTTPClientResponse
            do { response = try await client.execute(wire, deadline: .distantFuture) } catch {
                try Task.checkCancellation()
                // A body that was begun has a connection of its own.
                if destination.isSecure, !isAlone, meter?.tries == tries, HTTPClients.shared.isShared(client) {
                    throw OthersFailure()
                }
                if PeerCertificate.isMissing(in: error) { throw try await peerCertificate(at: address) }
                // Not the network's: a certificate to be asked about, a body that can't be read.
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

    /// The certificate that the server shows. Nothing is sent to it.
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

    /// All addresses together may take as long as the server may keep us waiting.
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
