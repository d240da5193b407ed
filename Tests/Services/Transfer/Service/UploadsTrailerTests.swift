import NIOCore
import NIOHTTP1
import TestSupport
import Testing

/// Tests `checksum-trailer` of tus on a raw connection, because few clients can send trailers.
@Suite(.tags(.database, .processes), .serialized) struct ChecksumTrailers {
    private static let hello = "sha1 qvTGHdzF6KLavt4PO0gs2a6pQ00="
    private static let world = "sha256 BF8T3YZLr6rQ3Zd6yXHeVJsJDLKDbwYdB3mybdm7j0s="

    /// Returns a complete request with a chunked body.
    private static func request(
        _ method: String, _ path: String, _ headers: [String], _ chunks: [String], trailers: [String],
        promise: [String] = ["Trailer: Expires, upload-checksum"]
    ) -> String {
        let head =
            ["\(method) \(path) HTTP/1.1", "Host: localhost", "Tus-Resumable: 1.0.0", "Transfer-Encoding: chunked"]
            + promise + headers
        let body = chunks.map { String($0.utf8.count, radix: 16) + "\r\n\($0)\r\n" }.joined() + "0\r\n"
        return head.joined(separator: "\r\n") + "\r\n\r\n" + body + trailers.map { $0 + "\r\n" }.joined() + "\r\n"
    }

    private static func patch(
        _ path: String, _ offset: Int, _ chunks: [String], trailers: [String],
        promise: [String] = ["Trailer: Upload-Checksum"]
    ) -> String {
        let headers = ["Content-Type: application/offset+octet-stream", "Upload-Offset: \(offset)"]
        return request("PATCH", path, headers, chunks, trailers: trailers, promise: promise)
    }

    /// Sends requests on one connection and returns the statuses of the responses.
    private func statuses(_ replica: UploadsSuite.Replica, _ requests: [String]) async throws -> [String] {
        let wire = try await UploadsWire.connect(replica.port)
        let last = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        try await wire.send(requests.joined() + last)
        return try await wire.heard().matches(of: #/HTTP/1\.1 (\d{3}) /#).dropLast().map { String($0.1) }
    }

    @Test func `a body must match the checksum in its trailer`() async throws {
        let (suite, replica) = try await UploadsSuite.start()
        defer { suite.stop(replica) }
        let path = try await replica.begin(["Upload-Length": "11"])
        let wrong: [(trailers: [String], status: String)] = [
            (["Upload-Checksum: sha1 \(Self.world.split(separator: " ")[1])"], "400"),
            (["Upload-Checksum: \(Self.world)"], "460"), ([], "400"), (["Expires: now"], "400"),
            (["Upload-Checksum: md5 XUFAKrxLKna5cZ2REBfFkg=="], "400"),
            (["Upload-Checksum: \(Self.hello)", "Upload-Checksum: \(Self.world)"], "400"),
        ]
        for (trailers, status) in wrong {
            let answers = try await statuses(replica, [Self.patch(path, 0, ["hel", "lo"], trailers: trailers)])
            #expect(answers == [status], "\(trailers)")
            #expect(try await replica.offset(path) == 0, "no byte of the body counts: \(trailers)")
        }
        let both = ["Trailer: Upload-Checksum", "Upload-Checksum: \(Self.hello)"]
        let twice = Self.patch(path, 0, ["hello"], trailers: ["Upload-Checksum: \(Self.hello)"], promise: both)
        #expect(try await statuses(replica, [twice]) == ["400"])
        let right = Self.patch(path, 0, ["hel", "lo"], trailers: ["upload-checksum: \(Self.hello)"])
        #expect(try await statuses(replica, [right]) == ["204"])
        let rest = Self.patch(path, 5, [" world"], trailers: ["Expires: now", "Upload-Checksum: \(Self.world)"])
        #expect(try await statuses(replica, [rest]) == ["204"])
        #expect(String(buffer: try await replica.send(.GET, path).body) == "hello world")
    }

    @Test func `the body of a creation must match the checksum in its trailer`() async throws {
        let (suite, replica) = try await UploadsSuite.start()
        defer { suite.stop(replica) }
        for (checksum, status) in [(Self.hello, "201"), (Self.world, "460")] {
            let headers = ["Content-Type: application/offset+octet-stream", "Upload-Length: 5"]
            let create = Self.request(
                "POST", "/files", headers, ["hello"], trailers: ["Upload-Checksum: \(checksum)"])
            #expect(try await statuses(replica, [create]) == [status])
        }
    }

    /// All requests are sent before the first response.
    @Test func `pipelined requests are each checked against their own trailer`() async throws {
        let (suite, replica) = try await UploadsSuite.start()
        defer { suite.stop(replica) }
        let path = try await replica.begin(["Upload-Length": "11"])
        let hello = ["Upload-Checksum: \(Self.hello)"]
        let world = ["Upload-Checksum: \(Self.world)"]
        let answers = try await statuses(
            replica,
            [
                // Refused because of its content type.
                Self.request("PATCH", path, ["Content-Type: text/plain"], ["hello"], trailers: hello),
                Self.patch(path, 0, ["hello"], trailers: world), Self.patch(path, 0, ["hello"], trailers: []),
                Self.patch(path, 0, ["hello"], trailers: hello), Self.patch(path, 5, [" world"], trailers: hello),
                Self.patch(path, 5, [" world"], trailers: world),
            ])
        #expect(answers == ["415", "460", "400", "204", "460", "204"])
        #expect(String(buffer: try await replica.send(.GET, path).body) == "hello world")
    }

    /// The first response arrives before the end of the body. The announced trailer must not apply to the next request.
    @Test func `an early refusal does not affect the checksum of the next request`() async throws {
        let (suite, replica) = try await UploadsSuite.start()
        defer { suite.stop(replica) }
        let path = try await replica.begin(["Upload-Length": "5"])
        let early = Self.request(
            "PATCH", path, ["Content-Type: text/plain"], ["hello"], trailers: ["Upload-Checksum: \(Self.hello)"])
        let (head, end) = (String(early.dropLast(60)), String(early.suffix(60)))
        let wire = try await UploadsWire.connect(replica.port)
        try await wire.send(head)
        #expect(try await wire.heard("415 ").hasPrefix("HTTP/1.1 415"))
        try await wire.send(end + Self.patch(path, 0, ["hello"], trailers: ["Upload-Checksum: \(Self.world)"]))
        _ = try await wire.heard("HTTP/1.1 460")
        #expect(try await replica.offset(path) == 0)
    }

    @Test func `a body that is cut before its trailer does not count`() async throws {
        let (suite, replica) = try await UploadsSuite.start()
        defer { suite.stop(replica) }
        let path = try await replica.begin(["Upload-Length": "5"])
        let whole = Self.patch(path, 0, ["hel", "lo"], trailers: ["Upload-Checksum: \(Self.hello)"])
        // Each round increments the epoch twice, by its PATCH and by its HEAD.
        for (epoch, length) in [(2, whole.utf8.count - 4), (4, whole.utf8.count - 55)] {
            let wire = try await UploadsWire.connect(replica.port)
            try await wire.send(String(decoding: whole.utf8.prefix(length), as: UTF8.self))
            try await eventually(describe: "the request has taken over the upload") {
                try await suite.sql("SELECT epoch = \(epoch) FROM transfer.uploads") == "t"
            }
            try await wire.close()
            #expect(try await replica.offset(path) == 0)
        }
    }
}
