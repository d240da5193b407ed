import NIOCore
import NIOPosix
import ServiceKit
import Testing

@testable import OpsService

@Suite("Orders that ops hands on", .timeLimit(.minutes(5))) struct ParkedRoutesTests {
    @Test func aServiceThatIsStillAtItIsNotAway() async throws {
        // It takes what comes, and never answers.
        let silent = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(silent.localAddress?.port)
        let parked = ParkedRoutes(addresses: ["push": "http://127.0.0.1:\(port)"], patience: .milliseconds(500))
        try await OpsBench.run(parked: parked) { bench in
            let answer = try await bench.send("POST", "/v1/dead-letters/push/device:a/replay", "")
            #expect(answer.status == 504 && answer.code == "order_under_way")
        }
        try await silent.close()
    }

    @Test func anAddressMayEndInASlash() throws {
        let request = try ServiceConfiguration.read(
            service: "ops", port: 0, more: Ops.settings, arguments: ["--push-url", "http://push:8083/"],
            environment: [:])
        guard case .run(let configuration) = request else { throw ConfigurationError("help") }
        let addresses = ParkedRoutes.addresses(configuration)
        #expect(addresses["push"] == "http://push:8083" && addresses["fetch"] == "http://127.0.0.1:8082")
    }
}
