import Contracts
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// Interrupted downloads: the requests for the rest, and the responses to them. Workers are real, the server is scripted.
@Suite(.tags(.database, .processes), .serialized) struct ResumingDownloads {
    private static let old = String(repeating: "0123456789", count: 4)
    private static let new = String(repeating: "abcdef", count: 5)
    private static let half = String(old.prefix(20))
    private static let rest = String(old.dropFirst(20))
    private static let ranges = "Accept-Ranges: bytes"
    private static let range = "Content-Range: bytes 20-39/40"

    /// Downloads every path of a script and checks the results.
    private func run(
        _ script: [String: [String]],
        _ body: (_ path: String, _ done: JSON, _ file: HTTPAnswer, _ requests: [CannedRequest]) throws -> Void
    ) async throws {
        let server = try await ScriptedServer.start(script)
        let (suite, transfer) = try await TransferSuite.start(origins: [server.origin])
        defer { transfer.signal(SIGTERM) }
        try await suite.prepare("phone")
        let session = Downloads.session("phone")
        let paths = script.keys.sorted()
        for (index, path) in paths.enumerated() {
            #expect(try await suite.download(server.url(path)) == index + 1)
            try await suite.claim(index + 1)
        }
        for (index, path) in paths.enumerated() {
            let done = try await suite.completed(index + 1)
            let file = try await suite.send(.GET, suite.transferPort, "\(session)/tasks/\(index + 1)/file")
            try body(path, done, file, server.requests(path))
        }
    }

    private func isWhole(_ text: String, _ done: JSON, _ file: HTTPAnswer, _ path: String) {
        #expect(done["error"] == .null && done["bytesReceived"]?.int == text.utf8.count, "\(path)")
        #expect(done["sha256"]?.string == sha256(ByteBuffer(string: text)), "\(path)")
        #expect(file.status == 200 && String(buffer: file.body) == text, "\(path)")
    }

    /// RFC 9110 sections 8.8.2.2, 13.1.5 and 14.3.
    @Test func `a download is resumed only with a strong validator and byte ranges`() async throws {
        let early = "Mon, 06 Jan 2025 08:00:00 GMT"
        let late = "Mon, 06 Jan 2025 08:00:01 GMT"
        let (tag, date) = ("ETag: \"a\"", "Last-Modified: \(early)")
        /// The fields of the first response, and `If-Range` of the next request; nil if it asks for the whole file.
        let cases: [String: ([String], String?)] = [
            "/tag": ([tag, Self.ranges], "\"a\""), "/both": ([tag, date, "Date: \(late)", Self.ranges], "\"a\""),
            "/date": ([date, "Date: \(late)", Self.ranges], early), "/undated": ([date, Self.ranges], early),
            "/same-second": ([date, "Date: \(early)", Self.ranges], nil),
            "/weak": (["ETag: W/\"a\"", date, "Date: \(late)", Self.ranges], nil), "/no-ranges": ([tag], nil),
            "/neither": ([Self.ranges], nil),
        ]
        let script = cases.mapValues { fields, validator in
            [
                answer(200, fields, Self.half, of: 40),
                validator == nil ? answer(200, fields, Self.old) : answer(206, fields + [Self.range], Self.rest),
            ]
        }
        try await run(script) { path, done, file, requests in
            let validator = try #require(cases[path]).1
            #expect(done.ends == ["connectionLost", "finished"], "\(path)")
            isWhole(Self.old, done, file, path)
            try #require(requests.count == 2, "\(path)")
            #expect(requests[0].headers["Range"] == [] && requests[0].headers["If-Range"] == [], "\(path)")
            #expect(requests[1].headers["Range"] == (validator == nil ? [] : ["bytes=20-"]), "\(path)")
            #expect(requests[1].headers["If-Range"] == (validator.map { [$0] } ?? []), "\(path)")
            #expect(done["attempts"]?[1]?["from"]?.int == (validator == nil ? 0 : 20), "\(path)")
        }
    }

    @Test func `a download restarts if its file has changed`() async throws {
        let first = answer(200, ["ETag: \"a\"", Self.ranges], Self.half, of: 40)
        let changed = answer(200, ["ETag: \"b\"", Self.ranges], Self.new)
        let script = [
            "/whole": [first, changed],
            "/other-tag": [first, answer(206, ["ETag: \"b\"", Self.range], Self.rest), changed],
            "/other-length": [first, answer(206, ["Content-Range: bytes 20-39/41"], Self.rest), changed],
            "/other-range": [first, answer(206, ["Content-Range: bytes 19-38/40"], Self.rest), changed],
            "/unsatisfiable": [first, answer(416, ["Content-Range: bytes */30"], "none"), changed],
        ]
        try await run(script) { path, done, file, requests in
            isWhole(Self.new, done, file, path)
            let isToldAtOnce = path == "/whole"
            let ends = isToldAtOnce ? ["connectionLost"] : ["connectionLost", "resourceChanged"]
            #expect(done.ends == ends + ["finished"], "\(path)")
            #expect(
                requests.count == (isToldAtOnce ? 2 : 3) && requests[1].headers["Range"] == ["bytes=20-"], "\(path)")
            if !isToldAtOnce { #expect(requests.last?.headers["Range"] == [], "\(path)") }
        }
    }

    /// A file of unknown length can be complete when its connection is cut. The body of the 416 is not part of it.
    @Test func `a download completes if no bytes follow the stored ones`() async throws {
        let chunked = [
            "HTTP/1.1 200 OK", "ETag: \"a\"", Self.ranges, "Transfer-Encoding: chunked", "", "28", Self.old, "",
        ].joined(separator: "\r\n")
        let script = ["/": [chunked + CannedServer.close, answer(416, ["Content-Range: bytes */40"], "nothing more")]]
        try await run(script) { path, done, file, requests in
            isWhole(Self.old, done, file, path)
            #expect(done.ends == ["connectionLost", "finished"])
            #expect(requests.count == 2 && requests[1].headers["Range"] == ["bytes=40-"])
        }
    }

    /// RFC 9530 section 3: `Repr-Digest` is about the whole file, also in a partial response.
    @Test func `a resumed download must match the digest of the whole file`() async throws {
        let whole = Data(Self.old.utf8)
        var script: [String: [String]] = [:]
        let hashes = ["sha-256": Data(SHA256.hash(data: whole)), "sha-512": Data(SHA512.hash(data: whole))]
        for (name, hash) in hashes {
            for (path, digest) in [("/right", hash), ("/wrong", Data(hash.reversed()))] {
                let fields = [
                    "ETag: \"a\"", Self.ranges, "Repr-Digest: \(name)=:\(digest.base64EncodedString()):",
                ]
                script["\(path)/\(name)"] = [
                    answer(200, fields, Self.half, of: 40), answer(206, fields + [Self.range], Self.rest),
                ]
            }
        }
        try await run(script) { path, done, file, requests in
            #expect(requests.count == 2 && requests[1].headers["Range"] == ["bytes=20-"], "\(path)")
            guard path.hasPrefix("/wrong") else { return isWhole(Self.old, done, file, path) }
            #expect(done["error"]?["code"]?.int == -1016, "\(path)")
            #expect(done.ends == ["connectionLost", "digestMismatch"], "\(path)")
        }
    }
}
