import Hummingbird
import TestSupport
import Testing

/// `Expect: 100-continue` (RFC 9110 section 10.1.1).
@Suite("Expectations", .tags(.processes), .timeLimit(.minutes(2))) struct ExpectTests {
    private static func head(_ key: String, expect: String = "100-continue") -> String {
        """
        POST /v1/naps HTTP/1.1\r
        Host: localhost\r
        Authorization: Bearer \(key)\r
        Content-Type: application/json\r
        Content-Length: 27\r
        Expect: \(expect)\r
        \r

        """
    }
    private static let body = #"{"name":"long","minutes":9}"#

    @Test(arguments: ["100-continue", "100-Continue"])
    func `an expectation gets 100 Continue before the body`(expect: String) async throws {
        try await TestService.run { service in
            let wire = try await Wire(service.port)
            for _ in 0..<3 {
                try await wire.send(Self.head(TestService.operatorKey, expect: expect))
                #expect(try await wire.next() == "HTTP/1.1 100 Continue\r\n\r\n")
                try await wire.send(Self.body)
                var answer = try await wire.next()
                while !answer.hasSuffix("}") { answer += try await wire.next() }
                #expect(answer.hasPrefix("HTTP/1.1 201 Created\r\n"))
            }
        }
    }

    @Test func `a refused request gets its answer without 100 Continue`() async throws {
        try await TestService.run { service in
            let wire = try await Wire(service.port)
            try await wire.send(Self.head("nobody's"))
            #expect(try await wire.next().hasPrefix("HTTP/1.1 401 Unauthorized\r\n"))
        }
    }

    @Test func `a document that ends early is answered 400 and not logged as an error`() async throws {
        try await TestService.run { service in
            let wire = try await Wire(service.port)
            try await wire.send(Self.head(TestService.operatorKey))
            _ = try await wire.next()
            try await wire.send(String(Self.body.prefix(9)))
            try await wire.close()
            try await eventually(within: 60, describe: "the request was answered") {
                let metrics = try await service.send("GET", "/metrics").body
                return metrics.contains(#"route="/v1/naps",status="400""#)
            }
            #expect(service.log.all.allSatisfy { !$0.contains("error") })
        }
    }

    @Test func `another expectation gets no 100 Continue`() async throws {
        try await TestService.run { service in
            let wire = try await Wire(service.port)
            try await wire.send(Self.head(TestService.operatorKey, expect: "something") + Self.body)
            #expect(try await wire.next().hasPrefix("HTTP/1.1 201 Created\r\n"))
        }
    }
}
