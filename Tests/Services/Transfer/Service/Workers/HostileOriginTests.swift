import Foundation
import NIOHTTP1
import Records
import TestSupport
import Testing

/// Invalid and hostile responses. Each ends its attempt or task by the rules and affects no other task.
@Suite(.tags(.database, .processes), .serialized) struct HostileOrigins {
    /// The result of a download.
    enum Outcome: Sendable {
        /// The attempt ends with this reason and is retried.
        case retried(String)
        /// The task ends with this reason, because a retry would not help.
        case ended(String)
        /// The response is accepted.
        case completed(status: Int, body: String)
    }

    struct Answer: Sendable, CustomTestStringConvertible {
        let name: String
        let text: String
        let outcome: Outcome
        var testDescription: String { name }

        init(_ name: String, _ text: String, _ outcome: Outcome = .retried("connectionLost")) {
            self.name = name
            self.text = text
            self.outcome = outcome
        }

        /// Creates a response with some fields and a body.
        init(_ name: String, fields: String..., body: String = "abc", outcome: Outcome = .retried("connectionLost")) {
            let head = fields.map { $0 + "\r\n" }.joined()
            self.init(name, "HTTP/1.1 200 OK\r\n\(head)\r\n\(body)\(CannedServer.close)", outcome)
        }
    }

    private static let long = String(repeating: "x", count: 100_000)
    private static let chunked = "Transfer-Encoding: chunked"
    private static func fields(_ count: Int) -> String { (1...count).map { "X-\($0): y" }.joined(separator: "\r\n") }
    private static let whole = Outcome.completed(status: 200, body: "abc")

    static let answers = [
        Answer("negative-length", fields: "Content-Length: -1"),
        Answer("negative-three", fields: "Content-Length: -3"),
        Answer("length-beyond-64-bits", fields: "Content-Length: 36893488147419103235"),
        Answer("length-of-an-exabyte", fields: "Content-Length: 1152921504606846976", outcome: .ended("cannotWrite")),
        Answer(
            "length-of-the-largest-number", fields: "Content-Length: 9223372036854775807",
            outcome: .ended("cannotWrite")),
        Answer("length-in-words", fields: "Content-Length: three"),
        Answer("length-in-hexadecimal", fields: "Content-Length: 0x3"),
        Answer("two-lengths", fields: "Content-Length: 3", "Content-Length: 2"),
        Answer("two-lengths-in-a-field", fields: "Content-Length: 3, 2"),
        Answer("length-and-chunks", fields: "Content-Length: 3", chunked, body: "3\r\nabc\r\n0\r\n\r\n"),
        Answer("chunk-in-words", fields: chunked, body: "three\r\nabc\r\n0\r\n\r\n"),
        Answer("negative-chunk", fields: chunked, body: "-3\r\nabc\r\n0\r\n\r\n"),
        Answer("chunk-beyond-64-bits", fields: chunked, body: "FFFFFFFFFFFFFFFFF\r\nabc\r\n0\r\n\r\n"),
        Answer("chunk-of-an-exabyte", fields: chunked, body: "1000000000000000\r\nabc"),
        Answer("chunk-without-end", fields: chunked, body: "3\r\nabcdef\r\n0\r\n\r\n"),
        Answer("chunks-without-last", fields: chunked, body: "3\r\nabc\r\n"),
        Answer("long-chunk-extension", fields: chunked, body: "3;\(long)\r\nabc\r\n0\r\n\r\n", outcome: whole),
        Answer("head-without-end", "HTTP/1.1 200 OK\r\n" + String(repeating: "X-Y: z\r\n", count: 100_000)),
        Answer("field-without-end", "HTTP/1.1 200 OK\r\nX: " + long),
        Answer("reason-without-end", "HTTP/1.1 200 " + long + CannedServer.close),
        Answer("nothing-at-all", CannedServer.close),
        Answer("status-of-five-digits", "HTTP/1.1 20000 OK\r\nContent-Length: 0\r\n\r\n"),
        Answer("version-of-tomorrow", "HTTP/9.9 200 OK\r\nContent-Length: 0\r\n\r\n" + CannedServer.close),
        Answer("field-with-a-null", fields: "X: a\u{1}b\u{0}c", "Content-Length: 3"),
        Answer("field-without-colon", fields: "Content-Length 3"),
        Answer("thousands-of-fields", fields: fields(5000), "Content-Length: 3"),
        Answer("hundreds-of-fields", fields: fields(200), "Content-Length: 3", outcome: whole),
        Answer("long-location", "HTTP/1.1 302 Found\r\nLocation: /\(long)\r\nContent-Length: 0\r\n\r\n"),
        Answer(
            "location-that-is-not-kept",
            "HTTP/1.1 302 Found\r\nLocation: /\(long.prefix(50_000))\r\nContent-Length: 3\r\n\r\nabc",
            .completed(status: 302, body: "abc")),
        Answer(
            "long-validators", fields: "ETag: \"\(long.prefix(30_000))\"", "Last-Modified: \(long.prefix(30_000))",
            "Content-Length: 3", outcome: whole),
        Answer("more-than-was-told", fields: "Content-Length: 3", body: "abcdef", outcome: whole),
        Answer(
            "part-that-nobody-asked-for",
            "HTTP/1.1 206 Part\r\nContent-Range: bytes 5-7/8\r\nContent-Length: 3\r\n\r\nabc",
            .retried("resourceChanged")),
        Answer(
            "floods-of-hints",
            String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 10_000) + ok("abc"), whole),
        Answer(
            "other-protocol", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nabc"),
    ]

    @Test func `hostile responses affect no other task`() async throws {
        let server = try await CannedServer.start { request in
            Self.answers.first { request.path == "/" + $0.name }?.text ?? ok("well")
        }
        let (suite, transfer) = try await TransferSuite.start(origins: [server.url("")])
        defer { transfer.signal(SIGTERM) }
        try await suite.prepare("phone")
        try await suite.prepare("other")
        for answer in Self.answers {
            let task = try await suite.download(server.url("/" + answer.name))
            switch answer.outcome {
            case .retried(let end):
                let document = try await suite.task(task, until: "\(answer.name) has ended its attempt") {
                    $0.ends.first??.isEmpty == false
                }
                #expect(document.ends.first == end, "\(answer.name)")
                #expect(document["state"]?.string == "running" && document["error"] == .null, "\(answer.name)")
                try await suite.call(
                    .POST, suite.transferPort, "\(Downloads.session("phone"))/tasks/\(task)/cancel")
            case .ended(let end):
                let document = try await suite.completed(task)
                #expect(document.ends == [end] && document["error"] != .null, "\(answer.name)")
            case .completed(let status, let body):
                let document = try await suite.completed(task)
                #expect(document["error"] == .null && document.ends == ["finished"], "\(answer.name)")
                #expect(document["response"]?["status"]?.int == status, "\(answer.name)")
                #expect(document["bytesReceived"]?.int == body.utf8.count, "\(answer.name)")
            }
        }
        let last = try await suite.download(server.url("/well"), on: "other")
        #expect(try await suite.completed(last, of: "other").ends == ["finished"])
        let memory = try Memory.most(of: transfer.pid)
        #expect(memory < 512 << 20, "\(memory >> 20) MiB")
        transfer.signal(SIGTERM)
        #expect(try await transfer.exit() == .exited(0), "the process has survived all responses")
    }
}
