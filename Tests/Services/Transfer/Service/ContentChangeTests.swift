import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Records
import TestSupport
import Testing

/// `PUT` and `DELETE` of content, and its paths.
@Suite(.tags(.database, .processes), .serialized) struct ContentChanges {
    @Test func `each change of content is in the audit trail`() async throws {
        try await Service.run { service in
            #expect(try await service.put("films/a", "one").status == 201)
            #expect(try await service.put("films/a", "two").status == 200)
            #expect(try await service.put("films/a", "no", ["If-None-Match": "*"]).status == 412)
            #expect(try await service.delete("films/a").status == 204)
            #expect(try await service.delete("films/a").status == 404)
            let rows = try await service.suite.cluster.sql(
                "SELECT action, actor, subject, details ->> 'size' FROM bus.audit ORDER BY at, id",
                database: service.suite.database)
            let lines = ["stored|3", "stored|3", "removed|"].map {
                let words = $0.split(separator: "|", omittingEmptySubsequences: false)
                return "content.\(words[0])|insecure-dev|content:films/a|\(words[1])"
            }
            #expect(rows == lines.joined(separator: "\n"))
        }
    }

    private struct Service: Sendable {
        let suite: TransferSuite
        let transfer: ChildProcess

        static func run(_ body: (Service) async throws -> Void) async throws {
            let (suite, transfer) = try await TransferSuite.start()
            defer { transfer.signal(SIGTERM) }
            try await body(Service(suite: suite, transfer: transfer))
        }

        func put(_ path: String, _ text: String, _ headers: [String: String] = [:]) async throws -> HTTPAnswer {
            try await suite.send(.PUT, suite.transferPort, "/content/" + path, headers: headers, .init(string: text))
        }
        func get(_ path: String) async throws -> HTTPAnswer {
            try await suite.send(.GET, suite.transferPort, "/content/" + path)
        }
        func delete(_ path: String, _ headers: [String: String] = [:]) async throws -> HTTPAnswer {
            try await suite.send(.DELETE, suite.transferPort, "/content/" + path, headers: headers)
        }

        /// Puts sixteen files at the same path at once and returns the sorted statuses.
        func race(_ headers: [String: String]) async throws -> [Int] {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for index in 0..<16 { group.addTask { try await put("raced", "\(index)", headers).status } }
                return try await group.reduce(into: []) { $0.append($1) }.sorted()
            }
        }

        /// The number of files on disk.
        var files: Int {
            get throws {
                let folder = suite.directory.appendingPathComponent("contents").path
                return try FileManager.default.contentsOfDirectory(atPath: folder).count
            }
        }

        /// Sends raw bytes and returns the response until the service closes the connection.
        func exchange(_ text: String) async throws -> String {
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelOption(.allowRemoteHalfClosure, value: true)
                .connect(host: "127.0.0.1", port: suite.transferPort) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                            wrappingChannelSynchronously: channel,
                            configuration: .init(isOutboundHalfClosureEnabled: true))
                    }
                }
            return try await channel.executeThenClose { inbound, outbound in
                try await outbound.write(ByteBuffer(string: text))
                outbound.finish()
                var answer = ""
                for try await buffer in inbound { answer += String(buffer: buffer) }
                return answer
            }
        }
    }

    @Test func `a path can have several segments`() async throws {
        try await Service.run { service in
            for path in ["a", "a/b", "a/b/c.txt", "films/2026/%C3%A9t%C3%A9%20%25.mp4", "v1/devices/x", "...", "a/.b"] {
                #expect(try await service.put(path, path).status == 201, "\(path)")
            }
            for path in ["a", "a/b", "a/b/c.txt", "films/2026/%C3%A9t%C3%A9%20%25.mp4", "v1/devices/x", "...", "a/.b"] {
                #expect(String(buffer: try await service.get(path).body) == path)
            }
            let document = try await service.put("films/2026/%C3%A9t%C3%A9%20%25.mp4", "again")
            #expect(document.status == 200 && document.json["path"]?.string == "films/2026/été %.mp4")
            #expect(try await service.get("a/b/c").status == 404)
            let post = try await service.suite.send(.POST, service.suite.transferPort, "/content/a/b")
            #expect(post.status == 405 && post.headers.first(name: "Allow") == "DELETE, GET, HEAD, PUT")
        }
    }

    @Test func `invalid paths are refused`() async throws {
        try await Service.run { service in
            let long = String(repeating: "x", count: 256)
            let many = [String](repeating: String(repeating: "y", count: 255), count: 5).joined(separator: "/")
            let bad = [
                "../a", "a/../b", "a/..", "%2e%2e/a", "a/./b", "a//b", "a/", "/a", "a%00b", "a/%0d%0ab", "a%7f",
                "a%c2%85",
                "a%2fb", "a%", "a%g0", "%ff", long, "a/\(long)", many,
            ]
            for (path, method) in bad.flatMap({ [($0, "PUT"), ($0, "GET"), ($0, "HEAD"), ($0, "DELETE")] }) {
                let answer = try await service.exchange(
                    "\(method) /content/\(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
                )
                #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(method) \(path.prefix(20)): \(answer.prefix(40))")
                #expect(method == "HEAD" || answer.contains(#""code":"invalid_path""#), "\(path.prefix(20))")
            }
            #expect(try service.files == 0)
        }
    }

    @Test func `PUT and DELETE obey preconditions`() async throws {
        try await Service.run { service in
            #expect(try await service.put("x", "1", ["If-Match": "*"]).status == 412)
            #expect(try await service.put("x", "1", ["If-Match": "\"a\""]).status == 412)
            #expect(try await service.delete("x", ["If-Match": "*"]).status == 412)
            #expect(try await service.delete("x").status == 404)
            let first = try await service.put("x", "1", ["If-None-Match": "*"])
            let etag = try #require(first.headers.first(name: "ETag"))
            #expect(first.status == 201)
            #expect(try await service.put("x", "2", ["If-None-Match": "*"]).status == 412)
            #expect(try await service.put("x", "2", ["If-None-Match": etag]).status == 412)
            #expect(try await service.put("x", "2", ["If-Match": "W/" + etag]).status == 412)
            let past = "Sun, 06 Nov 1994 08:49:37 GMT"
            #expect(try await service.put("x", "2", ["If-Unmodified-Since": past]).status == 412)
            #expect(String(buffer: try await service.get("x").body) == "1")
            #expect(try await service.put("x", "2", ["If-Match": etag]).status == 200)
            #expect(try await service.put("x", "3", ["If-Match": etag]).status == 412)
            #expect(try await service.delete("x", ["If-Match": etag]).status == 412)
            #expect(try await service.put("x", "3", ["Content-Range": "bytes 0-0/2"]).status == 400)
            #expect(try await service.put("x", "3", ["Content-Type": "nonsense"]).status == 400)
            #expect(String(buffer: try await service.get("x").body) == "2")
            #expect(try service.files == 1)
            #expect(try await service.delete("x").status == 204)
            #expect(try await service.get("x").status == 404)
            #expect(try service.files == 0)
        }
    }

    @Test func `of concurrent PUTs with If-None-Match one succeeds`() async throws {
        try await Service.run { service in
            let created = try await service.race(["If-None-Match": "*"])
            #expect(created == [201] + [Int](repeating: 412, count: 15))
            let replaced = try await service.race([:])
            #expect(replaced == [Int](repeating: 200, count: 16))
            let left = try service.files
            #expect(left == 1, "each replaced file is removed")
        }
    }

    @Test(arguments: ["Content-Length: 9\r\n\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"])
    func `a cut body leaves no file`(_ rest: String) async throws {
        try await Service.run { service in
            _ = try? await service.exchange("PUT /content/x HTTP/1.1\r\nHost: localhost\r\n" + rest)
            try await eventually(describe: "the received bytes are removed") { try service.files == 0 }
            #expect(try await service.get("x").status == 404)
        }
    }
}
