import Contracts
import Foundation
import NIOHTTP1
import Records
import TestSupport
import Testing

@testable import TransferService

/// Informational responses before the final one. Workers are real.
@Suite("Informational responses", .tags(.database, .processes), .serialized) struct InformationalTests {
    private static let hints = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"

    @Test(arguments: [("ios16", "0"), ("ios17", "2")])
    func `the delegate gets them before the response from iOS 17 on`(profile: String, count: String) async throws {
        let server = try await CannedServer.start { _ in Self.hints + Self.hints + ok("abc") }
        let (suite, transfer) = try await TransferSuite.start(origins: [server.url("")])
        defer { transfer.signal(SIGTERM) }
        try await suite.prepare("phone", profile: profile)
        let done = try await suite.completed(try await suite.download(server.url()))
        #expect(done["error"] == .null && done["response"]?["status"]?.int == 200)
        let events = "FROM bus.events WHERE type = 'transfer.informational.received'"
        #expect(try await suite.sql("SELECT count(*) \(events)") == count)
        let late = """
            SELECT count(*) \(events) AND log_offset > (
                SELECT min(log_offset) FROM bus.events WHERE type = 'transfer.response.received')
            """
        #expect(try await suite.sql(late) == "0", "the response comes after them")
        guard count != "0" else { return }
        #expect(
            try await suite.sql("SELECT DISTINCT data -> 'response' ->> 'link' \(events)")
                == "</style.css>; rel=preload")
    }

    @Test func `no other protocol and no long field is reported`() throws {
        let long = String(repeating: "x", count: 1025)
        let fields: HTTPHeaders = ["Link": long, "Location": "/u"]
        let head = HTTPResponseHead(version: .http1_1, status: .custom(code: 104, reasonPhrase: ""), headers: fields)
        let response = try #require(InformationalResponse(head))
        #expect(response == .init(status: 104, location: "/u"))
        #expect(InformationalResponse(HTTPResponseHead(version: .http1_1, status: .switchingProtocols)) == nil)
    }
}
