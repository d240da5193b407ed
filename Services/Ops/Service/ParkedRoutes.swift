import AsyncHTTPClient
import Contracts
import Foundation
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import NIOCore
import NIOHTTP1
import NIOSSL
import Records
import ServiceKit
import Telemetry

/// The URLs of the other services, and the certificates to trust.
struct ServiceAddresses: Sendable {
    /// The base URL of each service, without a slash at the end.
    let addresses: [String: String]
    private let authority: String?
    private static let authoritySetting = "SERVICES_AUTHORITY"

    init(_ reader: SettingsReader) {
        var addresses: [String: String] = [:]
        for (service, port) in [("lifecycle", 8081), ("fetch", 8082), ("push", 8083), ("transfer", 8084)] {
            let standard = "http://127.0.0.1:\(port)"
            addresses[service] = reader.value(
                "\(service.uppercased())_URL", standard, shown: standard,
                "URL of \(service), for replay and discard of its dead letters", mustBe: "an http or https URL",
                parse: Self.base)
        }
        self.addresses = addresses
        authority = reader.text(
            Self.authoritySetting,
            "PEM file with certificates to trust for https URLs, in addition to the system's")
    }

    private static func base(_ text: String) -> String? {
        guard let url = URL(string: text), let scheme = url.scheme, ["http", "https"].contains(scheme), url.host != nil
        else { return nil }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    /// Returns the certificates that are trusted in addition to the system's.
    ///
    /// - Throws: an error of one line if the file has no certificate.
    func trusted() throws(ConfigurationError) -> [NIOSSLCertificate] {
        guard let authority else { return [] }
        guard let certificates = try? NIOSSLCertificate.fromPEMFile(authority), !certificates.isEmpty else {
            throw ConfigurationError(
                "\(Setting.label(Self.authoritySetting)): the file contains no certificate in PEM format")
        }
        return certificates
    }
}

/// Replay and discard of dead letters. Each request goes to the service of the dead letter, with the same credential.
struct ParkedRoutes: Sendable {
    private static let mostBytes = 1 << 16
    /// The base URL of each service.
    let addresses: [String: String]
    let client: HTTPClient
    /// The timeout of a forwarded request. A service retries the parked inputs one after another.
    var patience = Duration.seconds(60)

    /// Returns the configuration of the HTTP client. A refused connection fails at once; by default, the client would
    /// retry until the timeout of the request.
    ///
    /// - Parameter time: the timeout of a connection attempt.
    static func calling(
        trusting certificates: [NIOSSLCertificate], connecting time: TimeAmount = .seconds(5)
    ) -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = time
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.additionalTrustRoots = [.certificates(certificates)]
        configuration.tlsConfiguration = tls
        return configuration
    }

    func add(to table: inout RouteTable) {
        let orders = [
            ("replay", "Makes a service process the parked inputs of a device in order, then unparks the device"),
            (
                "discard",
                "Makes a service drop the poison input of a device, process the inputs after it, then unpark the device"
            ),
        ]
        for (order, summary) in orders {
            table.add(
                .post, "/v1/dead-letters/{service}/{key}/\(order)", summary, .scope(.operate), .answers(Released.self),
                .refuses([.notFound, .serviceUnreachable, .orderUnderWay] + Problem.ofDeadLetters)
            ) { try await hand(order, $0) }
        }
    }

    private func hand(_ order: String, _ call: Call) async throws -> Response {
        let (service, key) = (try call.identifier("service"), try call.identifier("key"))
        guard addresses[service] != nil else {
            let names = KnownMachine.all.map(\.name).joined(separator: ", ")
            throw Problem.notFound.with(
                detail: "\(service) is not a service with dead letters; the services are \(names)")
        }
        return try await forward(call, .POST, to: service, "/v1/parked/\(key)/\(order)")
    }

    /// Sends a request to a service with the credential of the call, and returns its response.
    ///
    /// - Parameter path: the path at the service.
    /// - Throws: `service_unreachable`, or `order_under_way` if the service does not answer in time.
    func forward(
        _ call: Call, _ method: HTTPMethod, to service: String, _ path: String
    ) async throws -> Response {
        let address = addresses[service] ?? ""
        var handed = HTTPClientRequest(url: address + path)
        handed.method = method
        handed.headers.add(name: "traceparent", value: call.context.traceparent.description)
        for name in [HTTPField.Name.authorization, .idempotencyKey] {
            for value in call.request.headers[values: name] { handed.headers.add(name: name.rawName, value: value) }
        }
        do {
            let answer = try await client.execute(handed, timeout: TimeAmount(patience))
            let body = try await answer.body.collect(upTo: Self.mostBytes)
            var headers: HTTPFields = [:]
            for name in [HTTPField.Name.contentType, .retryAfter] {
                headers[name] = answer.headers.first(name: name.rawName)
            }
            return Response(
                status: .init(code: Int(answer.status.code)), headers: headers, body: .init(byteBuffer: body))
        } catch is CancellationError {
            throw CancellationError()
        } catch let error as HTTPClientError where error == .deadlineExceeded {
            throw Problem.orderUnderWay.with(
                detail:
                    "\(service) did not finish within \(patience.components.seconds) s and may still finish; repeat the "
                    + "request with its Idempotency-Key")
        } catch {
            throw Problem.serviceUnreachable.with(detail: "\(service) at \(address) did not answer")
        }
    }
}

/// The number of parked inputs that the service processed.
struct Released: Record {
    var taken = 0
}

extension Problem {
    static let orderUnderWay = Problem(
        .gatewayTimeout, "order_under_way", "Service did not finish in time")
    static let serviceUnreachable = Problem(
        .serviceUnavailable, "service_unreachable", "Service is unreachable", retryAfter: 1)
}
