import Foundation
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

/// A reported offset survives disconnections, killed processes, concurrent writers and expiry of others.
@Suite(.tags(.database, .processes), .serialized) struct DurableUploads {
    private static let patch = ["Tus-Resumable: 1.0.0", "Content-Type: application/offset+octet-stream"]

    @Test func `random disconnections lose no reported byte`() async throws {
        let (suite, replica) = try await UploadsSuite.start()
        defer { suite.stop(replica) }
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix64(seed: seed)
        let size = (3 << 20) + 1
        let bytes = noise(size, seed: seed)
        let path = try await replica.begin(["Upload-Length": "\(size)"])
        var (offset, furthest) = (0, 0)
        for _ in 0..<12 {
            let count = Int.random(in: 0...(size - offset) / 3, using: &random)
            let part = try #require(bytes.getSlice(at: offset, length: count))
            let headers = Self.patch + ["Upload-Offset: \(offset)", "Content-Length: \(size - offset)"]
            let wire = try await replica.half("PATCH", path, headers, part)
            try await wire.close()
            furthest = max(furthest, offset + count)
            // Bytes that the server has not read yet may be lost, but the offset never decreases.
            let told = try #require(try await replica.offset(path))
            #expect((offset...furthest).contains(told), "seed \(seed)")
            offset = told
        }
        try await eventually(describe: "the rest is accepted, seed \(seed)") {
            guard let told = try await replica.offset(path) else { return false }
            let rest = bytes.getSlice(at: told, length: size - told)
            let headers = [
                "Tus-Resumable": "1.0.0", "Content-Type": "application/offset+octet-stream", "Upload-Offset": "\(told)",
            ]
            return try await replica.send(.PATCH, path, headers, rest).status == 204
        }
        #expect(sha256(try await replica.send(.GET, path).body) == sha256(bytes), "seed \(seed)")
        #expect(suite.files.count == 1, "writers that end in order share a file")
    }

    @Test func `reported offsets survive killed processes`() async throws {
        let (suite, first) = try await UploadsSuite.start()
        var replica = first
        let size = 2_000_000
        let bytes = noise(size, seed: 3)
        let path = try await replica.begin(["Upload-Length": "\(size)"])
        var offset = 0
        while offset < size {
            let part = try #require(bytes.getSlice(at: offset, length: min(400_000, size - offset)))
            let headers = [
                "Tus-Resumable": "1.0.0", "Content-Type": "application/offset+octet-stream",
                "Upload-Offset": "\(offset)",
            ]
            let answer = try await replica.send(.PATCH, path, headers, part)
            let told = try #require(answer["Upload-Offset"].flatMap { Int($0) })
            // A further request is partly written but never answered.
            let count = min(300_000, size - told)
            let more = Self.patch + ["Upload-Offset: \(told)", "Content-Length: \(count + 1)"]
            if told + count < size {
                let wire = try await replica.half(
                    "PATCH", path, more, try #require(bytes.getSlice(at: told, length: count)))
                try await eventually(describe: "the writer holds the upload") {
                    try await suite.sql("SELECT is_held FROM transfer.uploads") == "t"
                }
                replica.process.signal(SIGKILL)
                _ = try await wire.heard()
            } else {
                replica.process.signal(SIGKILL)
            }
            _ = try await replica.process.exit()
            replica = try await suite.replica(port: replica.port)
            offset = try #require(try await replica.offset(path))
            #expect((told...told + count).contains(offset))
        }
        #expect(sha256(try await replica.send(.GET, path).body) == sha256(bytes))
        #expect(suite.files.count > 1, "no other writer uses the file of a killed one")
        replica.process.signal(SIGTERM)
    }

    @Test func `a new request ends the older one and keeps its bytes`() async throws {
        let (suite, replica) = try await UploadsSuite.start()
        defer { suite.stop(replica) }
        let size = 400_000
        let bytes = noise(size, seed: 5)
        let path = try await replica.begin(["Upload-Length": "\(size)"])
        let part = try #require(bytes.getSlice(at: 0, length: 300_000))
        let older = try await replica.half(
            "PATCH", path, Self.patch + ["Upload-Offset: 0", "Content-Length: \(size)"], part)
        try await eventually(describe: "the older request has written") { suite.bytesOnDisk > 200_000 }
        let told = try #require(try await replica.offset(path))
        #expect((200_000...300_000).contains(told))
        _ = try await older.heard()
        let headers = [
            "Tus-Resumable": "1.0.0", "Content-Type": "application/offset+octet-stream", "Upload-Offset": "\(told)",
        ]
        let rest = try #require(bytes.getSlice(at: told, length: size - told))
        #expect(try await replica.send(.PATCH, path, headers, rest).status == 204)
        #expect(sha256(try await replica.send(.GET, path).body) == sha256(bytes))
    }

    @Test func `of concurrent writers at most one succeeds`() async throws {
        let (suite, first) = try await UploadsSuite.start()
        let second = try await suite.replica()
        defer { suite.stop(first, second) }
        let path = try await first.begin(["Upload-Length": "200000"])
        let bodies = (0..<12).map { noise(200_000, seed: UInt64($0)) }
        let statuses = try await withThrowingTaskGroup(of: Int?.self) { group in
            for (index, body) in bodies.enumerated() {
                let replica = index % 2 == 0 ? first : second
                group.addTask {
                    let headers = [
                        "Tus-Resumable": "1.0.0", "Content-Type": "application/offset+octet-stream",
                        "Upload-Offset": "0",
                    ]
                    // A superseded writer loses its connection.
                    return try? await replica.send(.PATCH, path, headers, body).status
                }
            }
            return try await group.reduce(into: [Int?]()) { $0.append($1) }
        }
        #expect(statuses.allSatisfy { [nil, 204, 409].contains($0) }, "\(statuses)")
        #expect(statuses.count { $0 == 204 } <= 1, "\(statuses)")
        if try await second.offset(path) == 200_000 {
            let kept = sha256(try await second.send(.GET, path).body)
            #expect(bodies.map(sha256).contains(kept), "all bytes are from one writer")
        }
    }

    @Test func `a late writer damages nothing`() async throws {
        let (suite, sleeper) = try await UploadsSuite.start()
        let rival = try await suite.replica()
        defer { suite.stop(sleeper, rival) }
        let size = 2_000_000
        let (stale, bytes) = (noise(size, seed: 1), noise(size, seed: 2))
        let path = try await sleeper.begin(["Upload-Length": "\(size)"])
        let part = try #require(stale.getSlice(at: 0, length: 700_000))
        let older = try await sleeper.half(
            "PATCH", path, Self.patch + ["Upload-Offset: 0", "Content-Length: \(size)"], part)
        try await eventually(describe: "the first writer has begun to write") { !suite.files.isEmpty }
        sleeper.process.signal(SIGSTOP)
        let offset = try #require(try await rival.offset(path))
        let rest = try #require(bytes.getSlice(at: offset, length: size - offset))
        let headers = [
            "Tus-Resumable": "1.0.0", "Content-Type": "application/offset+octet-stream", "Upload-Offset": "\(offset)",
        ]
        #expect(try await rival.send(.PATCH, path, headers, rest).status == 204)
        sleeper.process.signal(SIGCONT)
        try await older.send(try #require(stale.getSlice(at: 700_000, length: size - 700_000)))
        #expect(try await older.heard("\r\n\r\n").hasPrefix("HTTP/1.1 409"), "the late writer is superseded")
        var want = try #require(stale.getSlice(at: 0, length: offset))
        want.writeImmutableBuffer(rest)
        for replica in [sleeper, rival] {
            #expect(sha256(try await replica.send(.GET, path).body) == sha256(want))
        }
    }

    @Test func `an incomplete upload expires and a complete one stays`() async throws {
        let (suite, replica) = try await UploadsSuite.start(["--upload-lifetime", "20"])
        defer { suite.stop(replica) }
        let done = try await replica.begin(["Upload-Length": "1"], "a")
        let path = try await replica.begin(["Upload-Length": "10"], "abc")
        #expect(try await replica.offset(path) == 3)
        // Complete uploads have no expiry, so this does not change them.
        _ = try await suite.sql("UPDATE transfer.uploads SET expires_at = expires_at - interval '20 seconds'")
        #expect(try await replica.tus(.HEAD, path).status == 410, "it has expired")
        try await eventually(describe: "its file is removed") { suite.files.count == 1 }
        _ = try await suite.sql("UPDATE transfer.uploads SET expires_at = expires_at - interval '1 hour'")
        try await eventually(describe: "its row is removed") { try await replica.tus(.HEAD, path).status == 404 }
        #expect(String(buffer: try await replica.send(.GET, done).body) == "a", "the complete one stays")
    }

    @Test func `an upload does not expire in a directory of another log`() async throws {
        let (suite, replica) = try await UploadsSuite.start(["--upload-lifetime", "4"])
        defer { suite.stop(replica) }
        _ = try await replica.begin(["Upload-Length": "9"], "abc")
        let mark = suite.directory.appendingPathComponent("incarnation")
        try await eventually(describe: "the directory names its log") { (try? Data(contentsOf: mark)) != nil }
        let own = try Data(contentsOf: mark)
        // A check under way may still write the own mark. So the other one is written until a check has read it.
        try await eventually(describe: "the directory is refused") {
            try Data("0123456789ab 1\n".utf8).write(to: mark, options: .atomic)
            return replica.process.errors.tail().contains("refused to sweep DATA_DIRECTORY")
        }
        _ = try await suite.sql("UPDATE transfer.uploads SET expires_at = now() - interval '1 hour'")
        // Two sweeps, a second apart.
        try await Task.sleep(for: .seconds(2.5))
        #expect(suite.files.count == 1)
        #expect(try await suite.sql("SELECT count(*) FROM transfer.uploads WHERE NOT is_deleted") == "1")
        try own.write(to: mark, options: .atomic)
        try await eventually(describe: "the upload has expired") { suite.files.isEmpty }
        let trash = suite.directory.appendingPathComponent("trash/uploads").path
        #expect(try FileManager.default.contentsOfDirectory(atPath: trash).count == 1)
    }

    @Test func `complete parts expire and the final upload stays`() async throws {
        let (suite, replica) = try await UploadsSuite.start(["--upload-lifetime", "20"])
        defer { suite.stop(replica) }
        let part = try await replica.begin(["Upload-Length": "3", "Upload-Concat": "partial"], "abc")
        let whole = try await replica.begin(["Upload-Concat": "final;\(part)"])
        let past = "UPDATE transfer.uploads SET expires_at = now() - interval '1 hour'"
        let expired = try await suite.sql(past + " WHERE expires_at IS NOT NULL RETURNING id")
        #expect("/files/" + expired == part)
        try await eventually(describe: "its row is removed") { try await replica.tus(.HEAD, part).status == 404 }
        #expect(String(buffer: try await replica.send(.GET, whole).body) == "abc", "the final upload stays")
    }

    @Test func `uploads need a credential and OPTIONS does not`() async throws {
        let (suite, open) = try await UploadsSuite.start()
        let path = try await open.begin(["Upload-Length": "3"])
        open.process.signal(SIGTERM)
        let closed = try await suite.replica(access: [])
        defer { suite.stop(closed) }
        #expect(try await closed.tus(.POST, "/files", ["Upload-Length": "1"], "a").status == 401)
        #expect(try await closed.tus(.PATCH, path, ["Upload-Offset": "0"], "abc").status == 401)
        #expect(try await closed.draft("8", .POST, "/uploads", ["Upload-Complete": "?1"], "a").status == 401)
        #expect(try await closed.draft("8", .HEAD, path).status == 401)
        for path in ["/files", "/uploads"] { #expect(try await closed.send(.OPTIONS, path).status == 204) }
    }
}
