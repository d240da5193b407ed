import Contracts
import Glibc
import NIOCore
import TestSupport
import Testing

@testable import TransferService

/// An address that drops packets: it listens with a full backlog.
private final class SilentAddress: Sendable {
    private let listener: Int32
    private let guest: Int32

    init(_ host: String, port: Int) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        inet_pton(AF_INET, host, &address.sin_addr)
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guest = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (listener, guest) = (listener, guest)
        let isFull = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                // The backlog has room for one connection, which is never accepted.
                bind(listener, address, size) == 0 && listen(listener, 0) == 0 && connect(guest, address, size) == 0
            }
        }
        try #require(isFull)
    }

    deinit {
        close(listener)
        close(guest)
    }
}

/// Hosts with several addresses, some of which do not respond.
@Suite struct SilentAddresses {
    private func fetching(_ port: Int, at addresses: String...) throws -> Fetching {
        let resolved = try addresses.map { try SocketAddress(ipAddress: $0, port: 0) }
        var fetching = try Fetching("http://files.example:\(port)/")
        fetching.origins = try AllowedOrigins("*", resolve: { _ in resolved }, isPublic: { _ in true })
        fetching.idle = .seconds(4)
        return fetching
    }

    @Test func `a silent address is skipped if another address answers`() async throws {
        let server = try await CannedServer.start(host: "127.0.0.6") { _ in ok("here") }
        let silent = try SilentAddress("127.0.0.5", port: server.port)
        let outcome = try await fetching(server.port, at: "127.0.0.5", "127.0.0.6").run()
        #expect(outcome.body == "here")
        withExtendedLifetime(silent) {}
    }

    /// The silent address may have a server, so the refusal of the other address does not decide.
    @Test(arguments: [["127.0.0.7"], ["127.0.0.7", "127.0.0.8"], ["127.0.0.8", "127.0.0.7"]])
    func `a silent address without an answering one is a timeout`(addresses: [String]) async throws {
        let taken = try await CannedServer.start(host: "127.0.0.9") { _ in ok("") }
        let silent = try SilentAddress("127.0.0.7", port: taken.port)
        let resolved = try addresses.map { try SocketAddress(ipAddress: $0, port: 0) }
        var fetching = try fetching(taken.port)
        fetching.origins = try AllowedOrigins("*", resolve: { _ in resolved }, isPublic: { _ in true })
        fetching.idle = .seconds(2)
        #expect(try await fetching.failure() == FetchFailure(.timedOut))
        withExtendedLifetime(silent) {}
    }
}
