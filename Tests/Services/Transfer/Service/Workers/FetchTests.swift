import AsyncHTTPClient
import Contracts
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import TestSupport
import Testing

@testable import TransferService

/// Failures of servers and connections, and the end of the attempt for each.
@Suite struct FetchFailures {
    @Test func `a short body is connectionLost and a silent one is timedOut`() async throws {
        let server = try await CannedServer.start { request in
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc" + (request.path == "/short" ? CannedServer.close : "")
        }
        #expect(try await Fetching(server.url("/short"), from: server).failure() == FetchFailure(.connectionLost))
        var silent = try Fetching(server.url("/silent"), from: server)
        silent.idle = .milliseconds(200)
        #expect(try await silent.failure() == FetchFailure(.timedOut))
    }

    @Test func `silence instead of a response is timedOut`() async throws {
        let server = try await CannedServer.start { _ in "" }
        var fetching = try Fetching(server.url(), from: server)
        fetching.idle = .milliseconds(200)
        #expect(try await fetching.failure() == FetchFailure(.timedOut))
    }

    /// Only silence of the server counts, not a slow reader.
    @Test func `a slow reader does not time out`() async throws {
        let text = String(repeating: "x", count: 4 << 20)
        let server = try await CannedServer.start { _ in ok(text) }
        let origins = try AllowedOrigins("http://127.0.0.1:\(server.port)")
        let fetch = HTTPFetch(
            origins: origins, request: FetchRequest(url: server.url()), idleTimeout: .seconds(2))
        var count = 0
        try await fetch.run { response in
            for try await buffer in response.body {
                if count == 0 { try await Task.sleep(for: .seconds(5)) }
                count += buffer.readableBytes
            }
        }
        #expect(count == text.utf8.count)
    }

    @Test func `a closed port is cannotConnect and an unknown name is hostNotFound`() async throws {
        let port = try freePort()
        var fetching = try Fetching("http://127.0.0.1:\(port)/")
        fetching.origins = try AllowedOrigins("http://127.0.0.1:\(port)")
        #expect(try await fetching.failure() == FetchFailure(.cannotConnect))
        fetching = try Fetching("http://nowhere.invalid/")
        fetching.origins = try AllowedOrigins("http://nowhere.invalid")
        #expect(try await fetching.failure() == FetchFailure(.hostNotFound))
        fetching.origins = try AllowedOrigins("*")
        #expect(try await fetching.failure() == FetchFailure(.hostNotFound))
    }

    @Test func `a response that is not HTTP is connectionLost`() async throws {
        let server = try await CannedServer.start { _ in "SSH-2.0-OpenSSH_9.2\r\n\r\n" + CannedServer.close }
        #expect(try await Fetching(server.url(), from: server).failure() == FetchFailure(.connectionLost))
    }

    @Test(arguments: [
        (ECONNREFUSED, AttemptEnd.cannotConnect), (EHOSTUNREACH, .cannotConnect), (ENETUNREACH, .cannotConnect),
        (ETIMEDOUT, .timedOut), (ECONNRESET, .connectionLost), (EPIPE, .connectionLost),
    ])
    func `system errors map to ends of attempts`(number: CInt, end: AttemptEnd) {
        #expect(FetchFailure(network: IOError(errnoCode: number, reason: "test")).end == end)
    }

    @Test func `TLS and storage errors map to ends of attempts`() {
        #expect(FetchFailure(network: NIOSSLError.uncleanShutdown).end == .connectionLost)
        #expect(FetchFailure(network: NIOSSLError.handshakeFailed(.zeroReturn)).end == .secureConnectionFailed)
        #expect(FetchFailure(network: NIOSSLExtraError.failedToValidateHostname).end == .secureConnectionFailed)
        #expect(FetchFailure(network: StorageError.missing).end == .fileMissing)
    }
}
