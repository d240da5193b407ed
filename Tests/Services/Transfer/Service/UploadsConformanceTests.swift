import Foundation
import Identity
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing
import Timeline

/// tus 1.0 and the IETF draft over HTTP by the table `Conformance/uploads.json`.
///
/// A row is a request. `as` names its protocol: tus, or some versions of the draft. `by` is the caller (by default an
/// operator), `on` is the state of the upload, and `of` is the owner of the upload. It has headers to `send` (null
/// removes a default header) and a `body`, which may be `chunked`. The expectations are the `status`, the `code` of the
/// problem, its `type` in the draft, the headers to `get` (null for none), and the offset `then`.
@Suite(.tags(.database, .processes)) struct UploadsConformance {
    @Test func `every row of the table gets its response`() async throws {
        let url = try #require(
            Bundle.module.url(forResource: "uploads", withExtension: "json", subdirectory: "Conformance"))
        let rows = try #require(try JSON(parsing: Array(try Data(contentsOf: url))).items)
        #expect(rows.count >= 270, "rows are missing")
        let fixture = try await UploadsFixture.start()
        defer { fixture.suite.stop(fixture.replica) }
        for row in rows {
            let speaker = row["as"] ?? .null
            for protocolName in speaker.items?.compactMap(\.string) ?? [speaker.string ?? ""] {
                for fault in try await UploadsRow(row, protocolName, fixture).faults() {
                    Issue.record("\(row["name"]?.string ?? "?") (\(protocolName)): \(fault)")
                }
            }
        }
    }
}

/// One row with one protocol.
private struct UploadsRow {
    let row: JSON
    let isTus: Bool
    let version: String
    let fixture: UploadsFixture

    init(_ row: JSON, _ protocolName: String, _ fixture: UploadsFixture) {
        (self.row, self.fixture) = (row, fixture)
        (isTus, version) = (protocolName == "tus", protocolName)
    }

    /// Sends the request and returns the differences from the row.
    func faults() async throws -> [String] {
        let id = try await row["on"]?.string.mapAsync { try await fixture.upload($0, of: row["of"]?.string) }
        let root = isTus ? "/files" : "/uploads"
        let body = row["body"]?.string.map { ByteBuffer(string: $0) }
        let answer = try await fixture.replica.send(
            HTTPMethod(rawValue: row["method"]?.string ?? ""), id.map { "\(root)/\($0)" } ?? root,
            try await headers(body), body, isChunked: row["chunked"] == true)
        var faults: [String] = []
        func check(_ holds: Bool, _ fault: String) { if !holds { faults.append(fault) } }
        check(answer.status == row["status"]?.int, "status \(answer.status) \(answer.code ?? "")")
        if let code = row["code"]?.string { check(answer.code == code, "code \(answer.code ?? "absent")") }
        if let type = row["type"]?.string {
            let got = answer.json["type"]?.string
            check(got == "https://iana.org/assignments/http-problem-types#" + type, "type \(got ?? "absent")")
        }
        for header in row["get"]?.members ?? [] {
            let (want, got) = (header.value.string, answer[header.name])
            check(got == want, "\(header.name) is \(got ?? "absent"), not \(want ?? "absent")")
        }
        if let then = row["then"]?.int, let id {
            let told = try await fixture.replica.offset("/files/\(id)")
            check(told == then, "offset \(told.map { "\($0)" } ?? "absent")")
        }
        return faults
    }

    /// Returns the default headers of the client and those of the row.
    private func headers(_ body: ByteBuffer?) async throws -> [String: String] {
        var headers = isTus ? ["Tus-Resumable": "1.0.0"] : ["Upload-Draft-Interop-Version": version]
        if isTus, body != nil { headers["Content-Type"] = "application/offset+octet-stream" }
        if let token = row["by"]?.string.flatMap({ fixture.credentials[$0] }) {
            headers["Authorization"] = "Bearer \(token)"
        }
        for header in row["send"]?.members ?? [] {
            headers[header.name] = try await header.value.string.mapAsync { try await fixture.filled($0) }
        }
        return headers
    }
}

/// A service with uploads in every state and callers of every kind.
private struct UploadsFixture {
    let suite: UploadsSuite
    let replica: UploadsSuite.Replica
    let credentials: [String: String]

    static func start() async throws -> UploadsFixture {
        let folder = try Folder()
        let keys = folder.url.appendingPathComponent("keys")
        let line = OperatorKeys.line(name: "reader", scopes: [.read], key: "reader-key")
        try Data((line + "\n").utf8).write(to: keys)
        let (suite, replica) = try await UploadsSuite.start([
            "--upload-max-size", "100", "--operator-key-file", keys.path,
        ])
        let tokens = try await DeviceTokens(pem: DeviceTokens.newKey(), keyID: "k1")
        _ = try await suite.sql(
            "INSERT INTO bus.token_keys VALUES ('k1', '\(TokenIssuer.service)', '\(tokens.publicKey)') RETURNING kid")
        var credentials = ["reader": "reader-key", "stranger": "nonsense"]
        for (who, device, fleet) in [
            ("device d1", "d1", "f1"), ("device d2", "d2", "f1"), ("fleet f1", nil, "f1"), ("fleet f2", nil, "f2"),
        ] {
            credentials[who] = try await tokens.issue(
                device: device, fleet: fleet, id: who, lifetime: Interval(milliseconds: 3_600_000))
        }
        return UploadsFixture(suite: suite, replica: replica, credentials: credentials)
    }

    /// Creates an upload in a state and returns its id.
    func upload(_ state: String, of owner: String? = nil) async throws -> String {
        switch state {
        case "unknown": return "00000000-0000-4000-8000-000000000000"
        case "misnamed": return "%20"
        case "empty": return try await begin(["Upload-Length": "6"], nil, owner)
        case "begun": return try await begin(["Upload-Length": "6"], "abc", owner)
        case "deferred": return try await begin(["Upload-Defer-Length": "1"], "abc", owner)
        case "complete": return try await begin(["Upload-Length": "6"], "abcdef", owner)
        case "partial": return try await begin(["Upload-Length": "3", "Upload-Concat": "partial"], "abc", owner)
        case "unfinished": return try await begin(["Upload-Length": "6", "Upload-Concat": "partial"], "abc", owner)
        case "final":
            return try await begin(["Upload-Concat": try await filled("final;{partial} {partial}")], nil, owner)
        case "deleted":
            let id = try await upload("begun", of: owner)
            try #require(try await replica.tus(.DELETE, "/files/\(id)").status == 204)
            return id
        case "expired":
            let id = try await upload("begun", of: owner)
            let past = "UPDATE transfer.uploads SET expires_at = now() - interval '1 second'"
            _ = try await suite.sql(past + " WHERE id = '\(id)' RETURNING id")
            return id
        // `/dev/full` has no space. `/dev/null` accepts all bytes but refuses fdatasync.
        case "full": return try await upload(into: "/dev/full", of: owner)
        case "forgetful": return try await upload(into: "/dev/null", of: owner)
        default: throw Unexpected(description: "unknown state “\(state)”")
        }
    }

    /// Creates an upload without bytes, whose next writer finds a device in place of its file.
    private func upload(into device: String, of owner: String?) async throws -> String {
        let id = try await upload("empty", of: owner)
        let file = suite.directory.appendingPathComponent("uploads/\(id).2")
        try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: device)
        return id
    }

    private func begin(_ headers: [String: String], _ body: String?, _ owner: String?) async throws -> String {
        var headers = headers
        headers["Authorization"] = owner.flatMap { credentials[$0] }.map { "Bearer \($0)" }
        return String(try await replica.begin(headers, body).dropFirst("/files/".count))
    }

    /// Replaces each state in braces by the path of an upload.
    func filled(_ text: String) async throws -> String {
        var text = text
        while let word = text.firstMatch(of: #/{([a-z]+)}/#) {
            text.replaceSubrange(word.range, with: "/files/" + (try await upload(String(word.1))))
        }
        return text
    }
}

extension Optional {
    fileprivate func mapAsync<T>(_ transform: (Wrapped) async throws -> T) async throws -> T? {
        guard let self else { return nil }
        return try await transform(self)
    }
}
