import AsyncHTTPClient
import Contracts
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import NIOSSL
import Records
import ServiceKit

/// Replays and discards what services have set aside. Each service does that itself; this hands the order on, with the
/// caller's own credential, and its answer back.
struct ParkedRoutes: Sendable {
    private static let mostBytes = 1 << 16
    /// Where each service is.
    let addresses: [String: String]
    let client: HTTPClient
    /// A service tries what it set aside anew, one input after the other: for so long it is waited for.
    var patience = Duration.seconds(60)

    /// The settings of where the services are.
    static let settings =
        KnownMachine.all.map { machine in
            Setting(
                "\(machine.name.uppercased())_URL", standardAddress(of: machine.name),
                "where \(machine.name) is: orders about its parked devices go there", mustBe: "an http or https URL"
            ) { text in
                guard let url = URL(string: text), let scheme = url.scheme else { return false }
                return ["http", "https"].contains(scheme) && url.host != nil
            }
        } + [
            Setting(
                authority, nil,
                "PEM file with certificates to trust beside the system's, where a service's URL is https")
        ]

    private static let authority = "SERVICES_AUTHORITY"

    /// Who is trusted beside whom the system trusts.
    ///
    /// - Throws: where the authority's file has no certificate, in one line.
    static func trusted(_ configuration: ServiceConfiguration) throws(ConfigurationError) -> [NIOSSLCertificate] {
        guard let file = configuration[authority] else { return [] }
        guard let certificates = try? NIOSSLCertificate.fromPEMFile(file), !certificates.isEmpty else {
            throw ConfigurationError(
                "SERVICES_AUTHORITY (--services-authority): the file that it names has no certificate in PEM")
        }
        return certificates
    }

    /// How services are called. One that nobody listens for is known at once: by itself the client would try to connect until
    /// its patience ends.
    ///
    /// - Parameter time: for a connection, to a host that does not say no either.
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

    static func addresses(_ configuration: ServiceConfiguration) -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: KnownMachine.all.map { machine in
                let address = configuration["\(machine.name.uppercased())_URL"] ?? standardAddress(of: machine.name)
                return (machine.name, address.hasSuffix("/") ? String(address.dropLast()) : address)
            })
    }

    private static func standardAddress(of service: String) -> String {
        let ports = ["lifecycle": 8081, "fetch": 8082, "push": 8083, "transfer": 8084]
        return "http://127.0.0.1:\(ports[service] ?? 0)"
    }

    func add(to table: inout RouteTable) {
        let orders = [
            ("replay", "Has a service take in, in order, what it set aside of a device, and frees the device"),
            (
                "discard",
                "Has a service forget the event at fault of a device, take in what waits behind it, and free it"
            ),
        ]
        for (order, summary) in orders {
            table.add(
                .post, "/v1/dead-letters/{service}/{key}/\(order)", summary, access: .scope(.operate),
                response: Released.self,
                problems: [.notFound, .serviceUnreachable, .orderUnderWay] + Problem.ofDeadLetters
            ) { request, context in
                try await hand(order, request, context)
            }
        }
    }

    private func hand(_ order: String, _ request: Request, _ context: ServiceContext) async throws -> Response {
        let service = try context.parameters.identifier("service")
        let key = try context.parameters.identifier("key")
        guard let address = addresses[service] else {
            let names = KnownMachine.all.map(\.name).joined(separator: ", ")
            throw Problem.notFound.because("there is no service \(service) with dead letters; there are \(names)")
        }
        var handed = HTTPClientRequest(url: address + "/v1/parked/\(key)/\(order)")
        handed.method = .POST
        handed.headers.add(name: "traceparent", value: context.traceparent.description)
        for name in [HTTPField.Name.authorization, .idempotencyKey] {
            for value in request.headers[values: name] { handed.headers.add(name: name.rawName, value: value) }
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
            throw Problem.orderUnderWay.because("\(service) is still at it after \(patience.components.seconds) s")
        } catch {
            throw Problem.serviceUnreachable.because("\(service) at \(address) gave no answer")
        }
    }
}

/// How many of a parked device's inputs were taken in.
struct Released: Record {
    var taken = 0

    mutating func visit<V: FieldVisitor>(_ fields: inout V) { fields.field("taken", &taken) }
}

extension Problem {
    static let orderUnderWay = Problem(
        .gatewayTimeout, "order_under_way", "The service may still do it; repeat it with its Idempotency-Key")
    static let serviceUnreachable = Problem(
        .serviceUnavailable, "service_unreachable", "The service that should do it gave no answer", retryAfter: 1)
}
