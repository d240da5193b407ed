import Foundation
import TestSupport
import Testing

/// Clients of HTTP/1.0, which do not understand interim responses (RFC 9110 section 15.2).
@Suite("Old clients", .tags(.processes), .timeLimit(.minutes(2))) struct OldClientTests {
    private static func request(_ version: String, _ expectation: String = "Expect: 100-continue\r\n") -> String {
        let body = #"{"name":"long","minutes":9}"#
        return """
            POST /v1/naps HTTP/\(version)\r
            Host: localhost\r
            Authorization: Bearer \(TestService.operatorKey)\r
            Content-Type: application/json\r
            Connection: keep-alive\r
            Content-Length: \(body.utf8.count)\r
            \(expectation)\r
            \(body)
            """
    }

    @Test func `an old client gets no 100 Continue`() async throws {
        try await TestService.run { service in
            let wire = try await Wire(service.port)
            try await wire.send(Self.request("1.0"))
            let answer = try await wire.next()
            #expect(answer.hasPrefix("HTTP/1.") && answer.dropFirst(8).hasPrefix(" 201 Created\r\n"), "\(answer)")
        }
    }

    @Test func `each pipelined request is answered by its own HTTP version`() async throws {
        try await TestService.run { service in
            let wire = try await Wire(service.port)
            try await wire.send(Self.request("1.1", "") + Self.request("1.1") + Self.request("1.0"))
            var heard = ""
            while heard.components(separatedBy: " 201 Created").count < 4 { heard += try await wire.next() }
            let codes = heard.components(separatedBy: "HTTP/1.").dropFirst().map { $0.dropFirst(2).prefix(3) }
            #expect(codes == ["201", "100", "201", "201"])
        }
    }
}
