import Foundation
import Hummingbird
import NIOCore
import Postgres
import TestSupport
import Testing

@testable import HTTPKit

/// Errors that the connection itself answers, before any route.
@Suite("Heads of requests", .tags(.processes), .timeLimit(.minutes(3))) struct HeadTests {
    private static func of(_ fields: String) -> String { "GET /healthz HTTP/1.1\r\nHost: x\r\n\(fields)\r\n" }

    @Test(arguments: [
        (of("X: \(String(repeating: "a", count: 17 * 1024))\r\n"), "431", "head_too_large"),
        (of("X: \(String(repeating: "a", count: 1 << 20))\r\n"), "431", "head_too_large"),
        (
            of(String(repeating: "X: \(String(repeating: "a", count: 8000))\r\n", count: 5)), "431", "head_too_large"
        ),
        (of(String(repeating: "X: a\r\n", count: 101)), "431", "head_too_large"),
        (
            "GET /healthz?\(String(repeating: "a", count: 100 * 1024)) HTTP/1.1\r\nHost: x\r\n\r\n", "414",
            "target_too_long"
        ),
        (
            "GET /healthz?\(String(repeating: "a", count: 9 * 1024)) HTTP/1.1\r\nHost: x\r\n\r\n", "414",
            "target_too_long"
        ),
        ("GET /healthz HTTP/1.1\r\n\r\n", "400", "invalid_header"),
        ("GET /healthz HTTP/1.1\r\nHost: x\r\nhost: y\r\n\r\n", "400", "invalid_header"),
        ("GET /healthz HTTP/1.0\r\nHost: x\r\nhost: y\r\n\r\n", "400", "invalid_header"),
        ("GET /healthz HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n", "400", "malformed_request"),
        ("GET /healthz HTTP/3.0\r\nHost: x\r\n\r\n", "505", "unknown_version"),
    ])
    func `a rejected head gets a problem document`(_ head: String, _ status: String, _ code: String)
        async throws
    {
        try await TestService.run { service in
            let wire = try await Wire(service.port)
            // The invalid head comes on a reused connection.
            try await wire.send(Self.of(""))
            #expect(try await wire.next().hasPrefix("HTTP/1.1 200 OK"))
            // The server may close before it has read everything.
            try? await wire.send(head)
            let last = try await wire.rest()
            #expect(
                last.hasPrefix("HTTP/1.1 \(status)") && last.contains("\"code\":\"\(code)\""), "\(last.prefix(300))")
            #expect(last.lowercased().contains("content-type: application/problem+json"))
            #expect(last.lowercased().contains("connection: close"))
            #expect(try await service.send("GET", "/healthz").status == 200)
        }
    }

    @Test func `requests before an invalid head are answered first`() async throws {
        try await TestService.run { service in
            let wire = try await Wire(service.port)
            try await wire.send(Self.of("") + "GET /healthz HTTP/1.1\r\n\r\n" + Self.of(""))
            let answers = try await wire.rest().components(separatedBy: "HTTP/1.1 ")
            #expect(answers.map { $0.prefix(3) } == ["", "200", "400"])
        }
    }

    @Test(arguments: [
        ("GET /healthz HTTP/1.0\r\n\r\n", "HTTP/1.0 200 OK"),
        ("GET /healthz HTTP/1.0\r\nHost: x\r\n\r\n", "HTTP/1.0 200 OK"),
        ("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: TE, Close\r\n\r\n", "HTTP/1.1 200 OK"),
    ])
    func `a connection without keep-alive is closed after its answer`(_ head: String, _ start: String) async throws {
        try await TestService.run { service in
            let wire = try await Wire(service.port)
            try await wire.send(head)
            let answer = try await wire.rest()
            #expect(answer.hasPrefix(start) && answer.contains("Connection: close"), "\(answer)")
            #expect(answer.hasSuffix(#"{"status":"alive"}"#))
        }
    }

    @Test func `a route can end the connection with its answer`() async throws {
        try await TestService.run(routes: { table in
            table.add(.get, "/v1/newer", "Needs a newer program", .open) { _ -> Response in
                throw Problem.newerProgramNeeded
            }
        }) { service in
            let wire = try await Wire(service.port)
            try await wire.send("GET /v1/newer HTTP/1.1\r\nHost: x\r\n\r\n" + Self.of(""))
            let answers = try await wire.rest().components(separatedBy: "HTTP/1.1 ")
            #expect(answers.map { $0.prefix(3) } == ["", "503"])
        }
    }

    @Test(arguments: [CancellationError(), PostgresError.cancelled] as [any Error])
    func `a cancelled request is answered 503 and not as an internal error`(_ error: any Error) async throws {
        try await TestService.run(routes: { table in
            table.add(.get, "/v1/cancelled", "Is cancelled", .open) { _ -> Response in throw error }
        }) { service in
            let answer = try await service.send("GET", "/v1/cancelled", key: nil)
            #expect(answer.status == 503 && answer.code == "stopping")
        }
    }

    @Test func `an old client keeps its connection only if the answer has a length`() async throws {
        try await TestService.run(routes: { table in
            table.add(.get, "/v1/parts", "Has no length", .open) { _ in
                Response(
                    status: .ok,
                    body: ResponseBody { writer in
                        try await writer.write(ByteBuffer(string: "one"))
                        try await writer.write(ByteBuffer(string: "two"))
                        try await writer.finish(nil)
                    })
            }
        }) { service in
            let wire = try await Wire(service.port)
            try await wire.send("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            let first = try await wire.next()
            #expect(first.hasPrefix("HTTP/1.0 200 OK") && first.contains("Connection: keep-alive"), "\(first)")
            try await wire.send("GET /v1/parts HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            let second = try await wire.rest()
            #expect(second.contains("Connection: close") && second.hasSuffix("\r\n\r\nonetwo"), "\(second)")
        }
    }

    // MARK: Bodies

    @Test func `a body that arrives too slowly gets 408`() async throws {
        try await TestService.run(
            settings: ["--request-timeout", "1"],
            routes: { table in
                table.add(.put, "/v1/content", "Takes content", .takesContent) { call in
                    Response(json: Array(buffer: try await call.request.body.collect(upTo: 1 << 20)))
                }
            }
        ) { service in
            let wire = try await Wire(service.port)
            try await wire.send(
                "PUT /v1/content HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(TestService.operatorKey)\r\n"
                    + "Content-Type: text/plain\r\nContent-Length: 100000\r\n\r\nab")
            let answer = try await wire.rest()
            #expect(answer.hasPrefix("HTTP/1.1 408 ") && answer.contains("request_timeout"), "\(answer)")
        }
    }

    @Test func `the rate of a body counts only while the server waits for more`() {
        var meter = BodyMeter(rate: 100, window: .seconds(10))
        let start = NIODeadline.now()
        func at(_ seconds: Int64) -> NIODeadline { start + .seconds(seconds) }
        meter.want(at: start)
        meter.take(999)
        var verdicts = [meter.isTooSlow(at: at(9)), meter.isTooSlow(at: at(10))]
        #expect(verdicts == [false, true])
        meter.take(1)
        verdicts = [meter.isTooSlow(at: at(10))]
        #expect(verdicts == [false])
        // A new window starts. Time in which the server wants nothing does not count.
        meter.rest(at: at(12))
        verdicts = [meter.isTooSlow(at: at(1000))]
        meter.want(at: at(1000))
        verdicts += [meter.isTooSlow(at: at(1007)), meter.isTooSlow(at: at(1008))]
        #expect(verdicts == [false, false, true])
    }
}
