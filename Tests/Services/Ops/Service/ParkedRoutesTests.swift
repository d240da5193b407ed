import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Records
import ServiceKit
import TestSupport
import Testing

@testable import OpsService

@Suite("Forwarded replay and discard", .tags(.database, .processes), .timeLimit(.minutes(5))) struct ParkedRoutesTests {
    private static let order = "/v1/dead-letters/push/device:a/replay"

    @Test func `a slow service gets 504, not 503`() async throws {
        // This server accepts connections and never answers.
        let silent = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(silent.localAddress?.port)
        let parked = ParkedRoutes(
            addresses: ["push": "http://127.0.0.1:\(port)"], client: .shared, patience: .milliseconds(500))
        try await OpsFixture.run(parked: parked) { fixture in
            let answer = try await fixture.send("POST", Self.order, "")
            #expect(answer.status == 504 && answer.code == "order_under_way")
        }
        try await silent.close()
    }

    /// A full backlog ignores connection attempts without a refusal, like a firewall that drops packets.
    @Test func `an unreachable service gets 503 without the full timeout`() async throws {
        let full = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: 1).serverChannelOption(.autoRead, value: false)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(full.localAddress?.port)
        let other = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup).connectTimeout(.milliseconds(300))
        var waiting: [any Channel] = []
        while let channel = try? await other.connect(host: "127.0.0.1", port: port).get() { waiting.append(channel) }
        let calling = ParkedRoutes.calling(trusting: [], connecting: .milliseconds(300))
        try await HTTPClient.withHTTPClient(configuration: calling) { client in
            let parked = ParkedRoutes(addresses: ["push": "http://127.0.0.1:\(port)"], client: client)
            try await OpsFixture.run(parked: parked) { fixture in
                let answer = try await fixture.send("POST", Self.order, "")
                #expect(answer.status == 503 && answer.code == "service_unreachable")
            }
        }
        for channel in waiting { try await channel.close() }
        try await full.close()
    }

    @Test func `a service with a certificate of SERVICES_AUTHORITY is trusted`() async throws {
        let certificate = try await PEMCertificate.make()
        let server = try await Self.secure(certificate)
        let address = "https://localhost:\(try #require(server.localAddress?.port))"
        for (settings, status) in [(["SERVICES_AUTHORITY": certificate.chainFile], 200), ([:], 503)] {
            let services = try Self.services(settings.merging(["PUSH_URL": address]) { $1 })
            let calling = ParkedRoutes.calling(trusting: try services.trusted())
            try await HTTPClient.withHTTPClient(configuration: calling) { client in
                let parked = ParkedRoutes(addresses: services.addresses, client: client)
                try await OpsFixture.run(parked: parked) { fixture in
                    let answer = try await fixture.send("POST", Self.order, "")
                    #expect(answer.status == status)
                    if status == 200 {
                        #expect(answer.json["taken"] == 3)
                    } else {
                        #expect(answer.code == "service_unreachable")
                    }
                }
            }
        }
        try await server.close()
    }

    @Test func `the outlook of an app comes from its services`() async throws {
        let certificate = try await PEMCertificate.make()
        let server = try await Self.secure(certificate)
        let address = "https://localhost:\(try #require(server.localAddress?.port))"
        let services = try Self.services([
            "SERVICES_AUTHORITY": certificate.chainFile, "PUSH_URL": address, "FETCH_URL": "http://127.0.0.1:1",
        ])
        let calling = ParkedRoutes.calling(trusting: try services.trusted())
        try await HTTPClient.withHTTPClient(configuration: calling) { client in
            let parked = ParkedRoutes(addresses: services.addresses, client: client)
            try await OpsFixture.run(parked: parked) { fixture in
                let app = "/v1/devices/d/apps/mail"
                let push = try await fixture.get(app + "/explain")
                #expect(push.status == 200 && push.json["taken"] == 3)
                #expect(try await fixture.get(app + "/forecast").code == "service_unreachable")
                #expect(try await fixture.get("/v1/devices/d/apps/a%2Fb/explain").code == "invalid_identifier")
                #expect(try await fixture.get(app + "/explain", key: OpsFixture.otherKey).status == 403)
            }
        }
        try await server.close()
    }

    @Test func `an authority file without certificates stops the start with one line`() async throws {
        let certificate = try await PEMCertificate.make()
        for file in ["/nowhere", certificate.keyFile] {
            let fault = ConfigurationError(
                "SERVICES_AUTHORITY (--services-authority): the file contains no certificate in PEM format")
            #expect(throws: fault) { try Self.services(["SERVICES_AUTHORITY": file]).trusted() }
        }
    }

    @Test func `the URL of a service may end with a slash`() throws {
        let addresses = try Self.services(["PUSH_URL": "http://push:8083/"]).addresses
        #expect(addresses["push"] == "http://push:8083" && addresses["fetch"] == "http://127.0.0.1:8082")
    }

    private static func services(_ settings: [String: String]) throws -> ServiceAddresses {
        ServiceAddresses(SettingsReader(settings))
    }

    /// Starts a TLS server that answers `{"taken":3}`.
    private static func secure(_ certificate: PEMCertificate) async throws -> any Channel {
        let chain = try NIOSSLCertificate.fromPEMFile(certificate.chainFile)
        let key = try NIOSSLPrivateKey(file: certificate.keyFile, format: .pem)
        let context = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key)))
        return try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Taken())
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }
}

private final class Taken: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .end = unwrapInboundIn(data) else { return }
        let body = ByteBuffer(string: #"{"taken":3}"#)
        let headers: HTTPHeaders = ["content-type": "application/json", "content-length": "\(body.readableBytes)"]
        context.write(wrapOutboundOut(.head(.init(version: .http1_1, status: .ok, headers: headers))), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
