import Contracts
import NIOCore
import NIOHTTP1
import Testing
import TestSupport
import TransferCore

@testable import TransferService

/// Background sessions follow redirects without asking the app.
@Suite struct Redirects {
    /// Returns a response that describes the last request.
    private static func echo(_ request: CannedRequest) -> String {
        let secrets = ["Authorization", "Cookie", "Proxy-Authorization"].compactMap { request.headers.first(name: $0) }
        let type = request.headers.first(name: "Content-Type") ?? ""
        return ok("\(request.method) \(String(buffer: request.body))|\(type)|\(secrets.joined(separator: ","))")
    }

    private static let secrets: HTTPHeaders = [
        "Authorization": "Bearer a", "Cookie": "b", "Proxy-Authorization": "c", "Content-Type": "text/plain",
    ]

    @Test(arguments: [
        (301, HTTPMethod.GET, "GET"), (301, .POST, "GET"), (301, .PUT, "PUT body"), (302, .POST, "GET"),
        (302, .DELETE, "DELETE body"), (303, .POST, "GET"), (303, .PUT, "GET"), (307, .POST, "POST body"),
        (308, .PUT, "PUT body"), (308, .GET, "GET"),
    ])
    func `the status decides method and body`(code: Int, method: HTTPMethod, want: String) async throws {
        let server = try await CannedServer.start { request in
            request.path == "/" ? status(code, "Location: there") : Self.echo(request)
        }
        var fetching = try Fetching(server.url(), by: method, from: server, headers: ["Content-Type": "text/plain"])
        if method != .GET { fetching.request.body = FileBody([FilePiece(holding: ByteBuffer(string: "body"))]) }
        let outcome = try await fetching.run()
        #expect(outcome.body.hasPrefix(want))
        let isDropped = want == "GET" && method != .GET
        #expect(outcome.body.contains("text/plain") != isDropped, "the content type is dropped with the body")
        let next = String(want.prefix { $0 != " " })
        #expect(
            outcome.redirects == [
                Redirect(status: code, method: next, url: server.url("/there"), crossesOrigins: false)
            ])
    }

    @Test func `a redirected HEAD stays a HEAD`() throws {
        let request = FetchRequest(url: "http://a/", method: .HEAD)
        let redirect = try #require(Redirect(status: 303, headers: ["Location": "/b"], to: request))
        #expect(redirect.method == "HEAD")
    }

    @Test func `credentials are dropped at another origin and stay dropped on the way back`() async throws {
        let first = try await CannedServer.start { request in
            switch request.path {
            case "/away": status(302, "Location: \(request.headers.first(name: "X-Away") ?? "")")
            case "/near": status(307, "Location: here")
            default: Self.echo(request)
            }
        }
        let second = try await CannedServer.start { request in
            request.path == "/back" ? status(302, "Location: \(first.url("/here"))") : Self.echo(request)
        }
        func run(_ path: String, by away: String = "") async throws -> Fetching.Outcome {
            var headers = Self.secrets
            headers.add(name: "X-Away", value: second.url(away))
            return try await Fetching(first.url(path), from: first, second, headers: headers).run()
        }
        #expect(try await run("/near").body == "GET |text/plain|Bearer a,b,c")
        #expect(try await run("/away", by: "/x").body == "GET |text/plain|")
        let back = try await run("/away", by: "/back")
        #expect(back.body == "GET |text/plain|")
        #expect(back.redirects.map(\.crossesOrigins) == [true, true])
    }

    @Test(arguments: [
        ("https://a/", "http://a/x", true), ("http://a/", "https://a/x", true), ("http://a/", "http://a:80/x", false),
        ("http://a/", "//b/x", true), ("http://a/", "http://A/x", false), ("http://a/", "http://a:81/x", true),
    ])
    func `another scheme, host or port is another origin`(from: String, to: String, crosses: Bool) throws {
        let redirect = try #require(
            Redirect(status: 302, headers: ["Location": to], to: FetchRequest(url: from, headers: Self.secrets)))
        #expect(redirect.crossesOrigins == crosses)
        let next = FetchRequest(url: from, headers: Self.secrets).following(redirect)
        #expect(next.headers.contains(name: "Authorization") != crosses)
        #expect(next.headers.contains(name: "Cookie") != crosses)
    }

    @Test(arguments: [
        ("http://a/b/c?d", "e", "http://a/b/e"), ("http://a/b/c", "/e?f", "http://a/e?f"),
        ("http://a/b", "?x=1", "http://a/b?x=1"), ("http://a/b/c", "../e", "http://a/e"),
    ])
    func `a relative location is resolved against the request`(from: String, location: String, want: String) {
        #expect(Redirect(status: 302, headers: ["Location": location], to: FetchRequest(url: from))?.url == want)
    }

    @Test(arguments: ["Location: http://[", "Location:", "X: y"])
    func `a redirect without a valid target is the response`(field: String) async throws {
        let server = try await CannedServer.start { _ in status(302, field) }
        let outcome = try await Fetching(server.url(), from: server).run()
        #expect(outcome.status == 302 && outcome.redirects.isEmpty)
    }

    @Test func `twenty redirects are followed and not one more`() async throws {
        let server = try await CannedServer.start { request in
            let number = Int(request.path.dropFirst()) ?? 0
            return number == 0 ? ok("there") : status(301, "Location: /\(number - 1)")
        }
        let outcome = try await Fetching(server.url("/20"), from: server).run()
        #expect(outcome.body == "there" && outcome.redirects.count == 20)
        #expect(try await Fetching(server.url("/21"), from: server).failure() == FetchFailure(.tooManyRedirects))
        #expect(server.requests == 42, "20 redirects and a response, then 21 redirects")
    }

    @Test(arguments: ["http://127.0.0.1:1/", "http://127.1/", "ftp://files.example/", "http://user:x@a/"])
    func `a redirect to a forbidden origin fails`(location: String) async throws {
        let server = try await CannedServer.start { _ in status(302, "Location: \(location)") }
        var fetching = try Fetching(server.url(), from: server)
        fetching.origins = try AllowedOrigins("*,http://127.0.0.1:\(server.port)")
        #expect(try await fetching.failure() == FetchFailure(.originNotAllowed))
    }
}
