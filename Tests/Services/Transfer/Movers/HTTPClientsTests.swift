import NIOCore
import NIOSSL
import TestSupport
import Testing

@testable import TransferService

/// How many clients there are; what they do is with ``FetchTests``.
@Suite("Clients of the movers") struct HTTPClientsTests {
    private func kind(_ host: String, isSecure: Bool) -> HTTPClients.Kind {
        HTTPClients.Kind(
            host: host, isSecure: isSecure, verification: .system, idleTimeout: .seconds(60), trustRoots: .default)
    }

    /// Has so many connections of a kind at once.
    ///
    /// - Returns: how many clients there were then.
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

    @Test func certificatesAreReadForAFewOnly() async throws {
        let secure = kind("secure.example", isSecure: true)
        #expect(try await clients(secure, for: 40) == HTTPClients.secureLimit)
        #expect(try await clients(secure, for: 40) == HTTPClients.secureLimit)
    }

    @Test func withoutThemEachConnectionHasItsOwn() async throws {
        let plain = kind("plain.example", isSecure: false)
        #expect(try await clients(plain, for: 100) == 100)
        #expect(HTTPClients.shared.count(of: plain) <= HTTPClients.limit)
        #expect(try await clients(plain, for: 1) <= HTTPClients.limit)
    }
}
