import NIOCore
import NIOSSL
import TestSupport
import Testing

@testable import TransferService

/// The number of HTTP clients. ``FetchFailures`` tests their behaviour.
@Suite("HTTP clients of the transfer workers") struct HTTPClientsTests {
    private func kind(_ host: String, isSecure: Bool) -> HTTPClients.Kind {
        HTTPClients.Kind(
            host: host, isSecure: isSecure, verification: .system, idleTimeout: .seconds(60), trustRoots: .default)
    }

    /// Opens some connections of a kind at once and returns the number of their clients.
    private func clients(_ kind: HTTPClients.Kind, for connections: Int) async throws -> Int {
        let entered = Tally()
        return try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<connections {
                group.addTask {
                    try await HTTPClients.shared.withClient(kind) { _ in
                        entered.add()
                        try await entered.reaches(connections)
                        return HTTPClients.shared.count(of: kind)
                    }
                }
            }
            return try await group.reduce(0) { max($0, $1) }
        }
    }

    @Test func `secure connections share a few clients`() async throws {
        let secure = kind("secure.example", isSecure: true)
        #expect(try await clients(secure, for: 40) == HTTPClients.secureLimit)
        #expect(try await clients(secure, for: 40) == HTTPClients.secureLimit)
    }

    @Test func `each plain connection has its own client`() async throws {
        let plain = kind("plain.example", isSecure: false)
        #expect(try await clients(plain, for: 100) == 100)
        #expect(HTTPClients.shared.count(of: plain) <= HTTPClients.limit)
        #expect(try await clients(plain, for: 1) <= HTTPClients.limit)
    }
}
