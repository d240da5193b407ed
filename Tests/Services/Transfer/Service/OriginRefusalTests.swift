import Foundation
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

/// Provokes every refusal that the OpenAPI document lists for content and uploads.
@Suite("Refusals of content and uploads", .tags(.database, .processes), .timeLimit(.minutes(4)))
struct OriginRefusalTests {
    @Test func `every described refusal of content and uploads occurs`() async throws {
        let (suite, replica) = try await UploadsSuite.start(["--upload-max-size", "1000000"])
        let rival = try await suite.replica()
        defer { suite.stop(replica, rival) }
        let given = GivenRefusals(replica.description) { call in
            var headers = call.headers
            if call.body != nil { headers["Content-Type"] = call.type }
            return try await replica.send(
                HTTPMethod(rawValue: call.method), call.path, headers, call.body.map { ByteBuffer(bytes: $0) })
        }
        let operations = replica.description.operations.filter { !$0.isCommon && !$0.path.hasPrefix("/v1/") }
        for operation in operations where operation.errors.contains("invalid_credential") {
            try await given.refuse(
                "invalid_credential", operation.method, operation.path([:]), headers: ["Authorization": "bearer none"])
        }
        for operation in operations where operation.errors.contains("invalid_query") {
            try await given.refuse("invalid_query", operation.method, operation.path([:]) + "?nonsense=1")
        }
        let refusals = OriginRefusals(given: given, replica: replica, rival: rival, suite: suite)
        try await refusals.ofContents()
        try await refusals.ofTus()
        try await refusals.ofTusAppends()
        try await refusals.ofTheDraft()
        try await refusals.ofDraftAppends()
        try await refusals.ofCutsAndRivals()
        let missing = given.missing(of: operations, but: .provokedElsewhere)
        #expect(missing.isEmpty, "described but never given: \(missing)")
    }
}

/// Provokes the refusals of content and uploads.
private struct OriginRefusals {
    let given: GivenRefusals
    let replica: UploadsSuite.Replica
    /// Another process with the same uploads.
    let rival: UploadsSuite.Replica
    let suite: UploadsSuite

    private static let override = "X-HTTP-Method-Override"

    func ofContents() async throws {
        for method in ["PUT", "GET", "HEAD", "DELETE"] {
            try await given.refuse("invalid_path", method, "/content/a%2fb")
            if method != "PUT" { try await given.refuse("not_found", method, "/content/none") }
        }
        let cut = try await UploadsWire.connect(replica.port)
        try await cut.send("PUT /content/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf")
        try await cut.finish()
        try given.refused("body_cut", "PUT", "/content/x", try await cut.heard())
        try await given.refuse(
            "invalid_header", "PUT", "/content/x", "x", headers: ["Content-Range": "bytes 0-0/2"])
        #expect(try await replica.send(.PUT, "/content/x", [:], ByteBuffer(string: "x")).status == 201)
        for method in ["PUT", "GET", "HEAD", "DELETE"] {
            try await given.refuse("precondition_failed", method, "/content/x", headers: ["If-Match": #""other""#])
        }
        try await given.refuse("range_not_satisfiable", "GET", "/content/x", headers: ["Range": "bytes=9-"])
    }

    // MARK: tus

    private func begin(_ headers: [String: String], _ body: String? = nil) async throws -> String {
        try await replica.begin(headers, body)
    }

    private func gone() async throws -> String {
        let path = try await begin(["Upload-Length": "3"])
        #expect(try await replica.tus(.DELETE, path).status == 204)
        return path
    }

    /// Provokes all refusals of tus except those of appends.
    func ofTus() async throws {
        let tus = ["Tus-Resumable": "1.0.0"]
        try await ofTusCreation(tus)
        let (gone, incomplete) = (try await gone(), try await begin(["Upload-Length": "3"]))
        for method in ["HEAD", "DELETE", "GET"] {
            try await given.refuse("invalid_identifier", method, "/files/a%20b", headers: tus)
            try await given.refuse("not_found", method, "/files/none", headers: tus)
            try await given.refuse("upload_gone", method, gone, headers: tus)
            if method != "GET" { try await given.refuse("tus_version", method, incomplete) }
        }
        try await given.refuse("method_not_allowed", "POST", incomplete, headers: tus)
        let absent = tus.merging([Self.override: "PUT"]) { $1 }
        for method in ["DELETE", "GET", "HEAD", "PATCH"] {
            try await given.refuse("method_not_allowed", method, incomplete, headers: absent)
        }
        let complete = try await begin(["Upload-Length": "3"], "abc")
        for (method, meant) in [("GET", [:]), ("POST", [Self.override: "GET"])] {
            try await ofReading(incomplete, complete, method, meant)
        }
    }

    private func ofReading(_ incomplete: String, _ complete: String, _ method: String, _ headers: [String: String])
        async throws
    {
        try await given.refuse("upload_incomplete", method, incomplete, headers: headers)
        for (code, name, value) in [
            ("precondition_failed", "If-Match", #""other""#), ("range_not_satisfiable", "Range", "bytes=9-"),
        ] {
            try await given.refuse(code, method, complete, headers: headers.merging([name: value]) { $1 })
        }
    }

    private func ofTusCreation(_ tus: [String: String]) async throws {
        func refuse(
            _ code: String, _ headers: [String: String], _ body: String? = nil,
            type: String = "application/offset+octet-stream"
        ) async throws {
            try await given.refuse(
                code, "POST", "/files", body, type: type, headers: tus.merging(headers) { $1 })
        }
        try await refuse("tus_version", ["Tus-Resumable": "0.2.2"])
        try await refuse("method_not_allowed", [Self.override: "PATCH"])
        try await refuse("invalid_header", [:])
        try await refuse("upload_too_large", ["Upload-Length": "2000000"])
        try await refuse("upload_media_type", ["Upload-Length": "3"], "abc", type: "text/plain")
        let checksum = ["Upload-Length": "3", "Upload-Checksum": "sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0="]
        try await refuse("upload_checksum_mismatch", checksum, "abc")
        let unfinished = try await begin(["Upload-Length": "3", "Upload-Concat": "partial"])
        try await refuse("partial_upload_unfinished", ["Upload-Concat": "final;\(unfinished)"])
        try await refuse("upload_gone", ["Upload-Concat": "final;\(try await gone())"])
        try await refuse("not_found", ["Upload-Concat": "final;/files/00000000-0000-4000-8000-000000000000"])
    }

    func ofTusAppends() async throws {
        let partial = try await begin(["Upload-Length": "3", "Upload-Concat": "partial"], "abc")
        let final = try await begin(["Upload-Concat": "final;\(partial)"])
        let (gone, begun) = (try await gone(), try await begin(["Upload-Length": "3"], "a"))
        for (method, meant) in [("PATCH", [:]), ("POST", [Self.override: "PATCH"])] {
            let usual = ["Tus-Resumable": "1.0.0", "Upload-Offset": "1"].merging(meant) { $1 }
            func refuse(
                _ code: String, _ path: String, _ headers: [String: String] = [:], _ body: String = "b",
                type: String = "application/offset+octet-stream"
            ) async throws {
                try await given.refuse(
                    code, method, path, body, type: type, headers: usual.merging(headers) { $1 })
            }
            try await refuse("tus_version", begun, ["Tus-Resumable": "0.2.2"])
            try await refuse("invalid_identifier", "/files/a%20b")
            try await refuse("not_found", "/files/none")
            try await refuse("upload_gone", gone)
            try await refuse("invalid_header", begun, ["Upload-Offset": "x"])
            try await refuse("upload_offset_mismatch", begun, ["Upload-Offset": "2"])
            try await refuse("upload_too_large", begun, [:], "bcd")
            try await refuse("upload_media_type", begun, type: "text/plain")
            try await refuse(
                "upload_checksum_mismatch", begun, ["Upload-Checksum": "sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0="])
            try await refuse("upload_final", final, ["Upload-Offset": "3"])
        }
    }

    // MARK: The draft

    private func asDraft(_ path: String) -> String { path.replacing("/files/", with: "/uploads/") }

    /// Provokes all refusals of the draft except those of appends.
    func ofTheDraft() async throws {
        let (gone, incomplete) = (asDraft(try await gone()), asDraft(try await begin(["Upload-Length": "3"])))
        for method in ["HEAD", "DELETE", "GET"] {
            try await given.refuse("invalid_identifier", method, "/uploads/a%20b")
            try await given.refuse("not_found", method, "/uploads/none")
            try await given.refuse("upload_gone", method, gone)
        }
        let version = "Upload-Draft-Interop-Version"
        try await given.refuse("upload_draft_version", "HEAD", incomplete, headers: [version: "4"])
        try await given.refuse(
            "invalid_header", "HEAD", incomplete, headers: [version: "6", "Upload-Offset": "0"])
        try await ofReading(incomplete, asDraft(try await begin(["Upload-Length": "3"], "abc")), "GET", [:])

        try await given.refuse("upload_draft_version", "POST", "/uploads", "a", headers: [version: "4"])
        try await given.refuse(
            "inconsistent_upload_length", "POST", "/uploads", "abc",
            headers: ["Upload-Complete": "?1", "Upload-Length": "4"])
        try await given.refuse(
            "upload_too_large", "POST", "/uploads", "abc",
            headers: ["Upload-Complete": "?0", "Upload-Length": "2000000"])
    }

    func ofDraftAppends() async throws {
        let (gone, begun) = (asDraft(try await gone()), asDraft(try await begin(["Upload-Length": "3"], "a")))
        let complete = asDraft(try await begin(["Upload-Length": "3"], "abc"))
        let open = asDraft(try await begin(["Upload-Defer-Length": "1"], "a"))
        func refuse(
            _ code: String, _ path: String, _ headers: [String: String] = [:], _ body: String = "b",
            type: String = "application/partial-upload"
        ) async throws {
            let usual = ["Upload-Draft-Interop-Version": "8", "Upload-Offset": "1", "Upload-Complete": "?0"]
            try await given.refuse(code, "PATCH", path, body, type: type, headers: usual.merging(headers) { $1 })
        }
        try await refuse("upload_draft_version", begun, ["Upload-Draft-Interop-Version": "4"])
        try await refuse("invalid_identifier", "/uploads/a%20b")
        try await refuse("not_found", "/uploads/none")
        try await refuse("upload_gone", gone)
        try await refuse("invalid_header", begun, ["Upload-Offset": "x"])
        try await refuse("upload_media_type", begun, type: "text/plain")
        try await refuse("mismatching_upload_offset", begun, ["Upload-Offset": "2"])
        try await refuse("completed_upload", complete, ["Upload-Offset": "3"])
        try await refuse("inconsistent_upload_length", begun, ["Upload-Complete": "?1"])
        try await refuse("upload_too_large", open, ["Upload-Length": "2000000"])
    }

    // MARK: Connections

    /// A partly sent request.
    private struct Begun {
        let method: String
        let path: String
        let headers: [String]
        /// The tus path of the upload that it appends to.
        var upload: String?
    }

    /// Provokes the refusals of cut bodies and of superseded requests.
    func ofCutsAndRivals() async throws {
        let tus = ["Tus-Resumable: 1.0.0", "Content-Type: application/offset+octet-stream"]
        let draft = ["Upload-Draft-Interop-Version: 8", "Upload-Complete: ?1"]
        let more = ["Content-Type: application/partial-upload", "Upload-Offset: 0"]
        for ending in [cut, supersede] {
            let length = ["Upload-Length": "\(Self.size)"]
            let uploads = [try await begin(length), try await begin(length), try await begin(length)]
            let appending = tus + ["Upload-Offset: 0"]
            try await ending(Begun(method: "PATCH", path: uploads[0], headers: appending, upload: uploads[0]))
            try await ending(
                Begun(
                    method: "POST", path: uploads[1], headers: appending + [Self.override + ": PATCH"],
                    upload: uploads[1]))
            try await ending(
                Begun(method: "PATCH", path: asDraft(uploads[2]), headers: draft + more, upload: uploads[2]))
            try await ending(Begun(method: "POST", path: "/uploads", headers: draft))
        }
        try await cut(Begun(method: "POST", path: "/files", headers: tus + ["Upload-Length: \(Self.size)"]))
    }

    private static let size = 900_000
    private static let part = 600_000

    private func half(_ request: Begun) async throws -> UploadsWire {
        let count = suite.files.count
        let wire = try await replica.half(
            request.method, request.path, request.headers + ["Content-Length: \(Self.size)"],
            noise(Self.part, seed: 1))
        try await eventually(describe: "the request has begun to write") { suite.files.count > count }
        return wire
    }

    private func cut(_ request: Begun) async throws {
        let wire = try await half(request)
        try await wire.finish()
        try given.refused("upload_cut", request.method, request.path, try await wire.heard())
    }

    private func supersede(_ request: Begun) async throws {
        let wire = try await half(request)
        var upload = request.upload
        if upload == nil {
            // The interim response has the path.
            let told = try await wire.heard("Upload-Limit").firstMatch(of: #/(?i)location: \S+\/uploads\/(\S+)/#)
            upload = told.map { "/files/\($0.1)" }
        }
        #expect(try await rival.offset(try #require(upload)) != nil)
        try await wire.send(noise(Self.size - Self.part, seed: 2))
        let heard = try await wire.heard("upload_superseded")
        try given.refused("upload_superseded", request.method, request.path, heard)
    }
}
