import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// tus 1.0 over HTTP, status by status.
@Suite(.tags(.database, .processes), .serialized) struct TusUploads {
    @Test func `every tus request gets the status of the specification`() async throws {
        let (suite, replica) = try await UploadsSuite.start(["--upload-max-size", "100"])
        defer { suite.stop(replica) }
        try await tellsWhatItUnderstands(replica)
        try await creates(replica)
        try await appends(replica)
        try await takesDeferredLengths(replica)
        try await checks(replica)
        try await concatenates(replica)
        try await ends(replica, suite)
    }

    private func tellsWhatItUnderstands(_ replica: UploadsSuite.Replica) async throws {
        let options = try await replica.send(.OPTIONS, "/files")
        #expect(options.status == 204)
        #expect(options["Tus-Resumable"] == "1.0.0" && options["Tus-Version"] == "1.0.0")
        #expect(options["Tus-Max-Size"] == "100")
        #expect(options["Tus-Checksum-Algorithm"] == "sha1,sha256")
        #expect(
            options["Tus-Extension"]
                == "creation,creation-with-upload,creation-defer-length,expiration,checksum,checksum-trailer,termination,"
                + "concatenation")
        for version in ["", "0.2.2"] {
            let old = try await replica.tus(.POST, "/files", ["Tus-Resumable": version, "Upload-Length": "1"])
            #expect(old.status == 412 && old["Tus-Version"] == "1.0.0" && old["Tus-Resumable"] == "1.0.0")
        }
        #expect(try await replica.tus(.PATCH, "/files").status == 405)
        let paths = try await replica.send(.GET, "/openapi.json").json["paths"]
        for (path, method) in [("/files", "post"), ("/files/{upload}", "post"), ("/uploads", "post")] {
            let names = paths?[path]?[method]?["parameters"]?.items?.compactMap { $0["name"]?.string } ?? []
            #expect(!names.contains("Idempotency-Key"), "\(path): offsets make uploads idempotent")
        }
        let unknown = try await replica.tus(.HEAD, "/files/00000000-0000-4000-8000-000000000000")
        #expect(unknown.status == 404 && unknown["Upload-Offset"] == nil && unknown["Tus-Resumable"] == "1.0.0")
    }

    private func creates(_ replica: UploadsSuite.Replica) async throws {
        let wrong: [[String: String]] = [
            [:], ["Upload-Length": "-1"], ["Upload-Length": "1.5"], ["Upload-Length": "x"],
            ["Upload-Length": "1", "Upload-Defer-Length": "1"], ["Upload-Defer-Length": "2"],
            ["Upload-Length": "1", "Upload-Metadata": "name !"], ["Upload-Length": "1", "Upload-Metadata": "a,a"],
            ["Upload-Length": "1", "Upload-Concat": "all"], ["Upload-Concat": "final;"],
            ["Upload-Concat": "final;/files/../../etc/passwd"],
            ["Upload-Length": "1", "Upload-Checksum": "crc32 AAAA"],
        ]
        for headers in wrong {
            let answer = try await replica.tus(.POST, "/files", headers)
            #expect(answer.status == 400 && answer["Tus-Resumable"] == "1.0.0", "\(headers)")
        }
        #expect(try await replica.tus(.POST, "/files", ["Upload-Length": "101"]).status == 413)
        let typed = ["Upload-Length": "1", "Content-Type": "text/plain"]
        #expect(try await replica.tus(.POST, "/files", typed, "a").status == 415)
        #expect(try await replica.tus(.POST, "/files", ["Upload-Length": "1"], "ab").status == 413)

        let created = try await replica.tus(
            .POST, "/files", ["Upload-Length": "5", "Upload-Metadata": "filename ZmlsbQ==,is_confidential"])
        #expect(created.status == 201 && created["Upload-Offset"] == nil && created["Upload-Expires"] != nil)
        let path = try #require(created.uploadPath)
        let head = try await replica.tus(.HEAD, path)
        #expect(head.status == 200 && head["Upload-Offset"] == "0" && head["Upload-Length"] == "5")
        #expect(head["Upload-Metadata"] == "filename ZmlsbQ==,is_confidential" && head["Cache-Control"] == "no-store")
        #expect(head["Upload-Expires"]?.hasSuffix("GMT") == true)

        let whole = try await replica.tus(.POST, "/files", ["Upload-Length": "5"], "whole")
        #expect(whole.status == 201 && whole["Upload-Offset"] == "5" && whole["Upload-Expires"] == nil)
        let bytes = try await replica.send(.GET, try #require(whole.uploadPath))
        #expect(bytes.status == 200 && String(buffer: bytes.body) == "whole")
        let empty = try await replica.begin(["Upload-Length": "0"])
        #expect(try await replica.send(.GET, empty).body.readableBytes == 0)
    }

    private func appends(_ replica: UploadsSuite.Replica) async throws {
        let path = try await replica.begin(["Upload-Length": "6"])
        #expect(try await replica.send(.GET, path).status == 409)
        let typed = ["Upload-Offset": "0", "Content-Type": "text/plain"]
        #expect(try await replica.tus(.PATCH, path, typed, "abc").status == 415)
        #expect(try await replica.tus(.PATCH, path, [:], "abc").status == 400)
        let ahead = try await replica.tus(.PATCH, path, ["Upload-Offset": "1"], "abc")
        #expect(ahead.status == 409 && ahead.code == "upload_offset_mismatch")
        #expect(try await replica.tus(.PATCH, path, ["Upload-Offset": "0"], "sevenxx").status == 413)
        #expect(try await replica.offset(path) == 0)

        let half = try await replica.tus(.PATCH, path, ["Upload-Offset": "0"], "abc")
        #expect(half.status == 204 && half["Upload-Offset"] == "3" && half["Upload-Expires"] != nil)
        #expect(try await replica.tus(.PATCH, path, ["Upload-Offset": "0"], "abc").status == 409)
        let override = ["Upload-Offset": "3", "X-HTTP-Method-Override": "PATCH"]
        let rest = try await replica.tus(.POST, path, override, "def")
        #expect(rest.status == 204 && rest["Upload-Offset"] == "6" && rest["Upload-Expires"] == nil)
        #expect(try await replica.tus(.POST, path).status == 405)
        #expect(String(buffer: try await replica.send(.GET, path).body) == "abcdef")
        #expect(try await replica.tus(.PATCH, path, ["Upload-Offset": "6"], "g").status == 413)
    }

    private func takesDeferredLengths(_ replica: UploadsSuite.Replica) async throws {
        let path = try await replica.begin(["Upload-Defer-Length": "1"])
        let head = try await replica.tus(.HEAD, path)
        #expect(head["Upload-Length"] == nil && head["Upload-Defer-Length"] == "1")
        #expect(try await replica.tus(.PATCH, path, ["Upload-Offset": "0"], "abc").status == 204)
        for length in ["2", "x"] {
            let wrong = ["Upload-Offset": "3", "Upload-Length": length]
            #expect(try await replica.tus(.PATCH, path, wrong, "").status == 400)
        }
        let large = ["Upload-Offset": "3", "Upload-Length": "101"]
        #expect(try await replica.tus(.PATCH, path, large, "").status == 413)
        #expect(try await replica.tus(.PATCH, path, ["Upload-Offset": "3", "Upload-Length": "5"], "d").status == 204)
        #expect(try await replica.tus(.HEAD, path)["Upload-Length"] == "5")
        #expect(try await replica.tus(.PATCH, path, ["Upload-Offset": "4", "Upload-Length": "6"], "").status == 400)
        #expect(try await replica.tus(.PATCH, path, ["Upload-Offset": "4", "Upload-Length": "5"], "e").status == 204)
        #expect(String(buffer: try await replica.send(.GET, path).body) == "abcde")
    }

    private func checks(_ replica: UploadsSuite.Replica) async throws {
        let path = try await replica.begin(["Upload-Length": "11"])
        let hello = "sha1 qvTGHdzF6KLavt4PO0gs2a6pQ00="
        let wrong = try await replica.tus(.PATCH, path, ["Upload-Offset": "0", "Upload-Checksum": hello], "hallo")
        #expect(wrong.status == 460 && wrong.code == "upload_checksum_mismatch")
        #expect(try await replica.offset(path) == 0, "no byte of the body counts")
        for checksum in ["sha1", "sha1 !", "sha1 AAAA", "md5 XUFAKrxLKna5cZ2REBfFkg=="] {
            let unknown = ["Upload-Offset": "0", "Upload-Checksum": checksum]
            #expect(try await replica.tus(.PATCH, path, unknown, "hello").status == 400, "\(checksum)")
        }
        let right = try await replica.tus(.PATCH, path, ["Upload-Offset": "0", "Upload-Checksum": hello], "hello")
        #expect(right.status == 204 && right["Upload-Offset"] == "5")
        let world = "sha256 BF8T3YZLr6rQ3Zd6yXHeVJsJDLKDbwYdB3mybdm7j0s="
        let rest = try await replica.tus(.PATCH, path, ["Upload-Offset": "5", "Upload-Checksum": world], " world")
        #expect(rest.status == 204 && rest["Upload-Offset"] == "11")
        #expect(String(buffer: try await replica.send(.GET, path).body) == "hello world")
    }

    private func concatenates(_ replica: UploadsSuite.Replica) async throws {
        let first = try await replica.begin(["Upload-Length": "3", "Upload-Concat": "partial"], "abc")
        let second = try await replica.begin(["Upload-Length": "3", "Upload-Concat": "partial"])
        let final = ["Upload-Concat": "final;\(first) http://127.0.0.1\(second)"]
        #expect(try await replica.tus(.POST, "/files", final).code == "partial_upload_unfinished")
        #expect(try await replica.tus(.PATCH, second, ["Upload-Offset": "0"], "def").status == 204)
        #expect(try await replica.tus(.HEAD, second)["Upload-Concat"] == "partial")
        let plain = try await replica.begin(["Upload-Length": "1"], "x")
        let mixed = ["Upload-Concat": "final;\(first) \(plain)"]
        #expect(try await replica.tus(.POST, "/files", mixed).status == 400)
        #expect(try await replica.tus(.POST, "/files", final.merging(["Upload-Length": "6"]) { $1 }).status == 400)

        let path = try await replica.begin(final)
        let head = try await replica.tus(.HEAD, path)
        #expect(head["Upload-Concat"] == final["Upload-Concat"])
        #expect(head["Upload-Length"] == "6" && head["Upload-Offset"] == "6")
        #expect(try await replica.tus(.PATCH, path, ["Upload-Offset": "6"], "g").status == 403)
        for part in [first, second] { #expect(try await replica.tus(.DELETE, part).status == 204) }
        #expect(String(buffer: try await replica.send(.GET, path).body) == "abcdef", "the parts are not needed")
        #expect(try await replica.tus(.POST, "/files", final).status == 410)
        var large: [String] = []
        for _ in 0..<2 {
            large.append(
                try await replica.begin(
                    ["Upload-Length": "60", "Upload-Concat": "partial"], String(repeating: "x", count: 60)))
        }
        let much = ["Upload-Concat": "final;" + large.joined(separator: " ")]
        #expect(try await replica.tus(.POST, "/files", much).status == 413)
    }

    private func ends(_ replica: UploadsSuite.Replica, _ suite: UploadsSuite) async throws {
        let path = try await replica.begin(["Upload-Length": "3"], "a")
        let id = try #require(path.split(separator: "/").last)
        #expect(suite.files.contains { $0.hasPrefix(id) })
        #expect(try await replica.tus(.DELETE, path).status == 204)
        for method in [HTTPMethod.HEAD, .DELETE, .GET] {
            let gone = try await replica.tus(method, path)
            #expect(gone.status == 410 && gone["Upload-Offset"] == nil)
        }
        #expect(try await replica.tus(.PATCH, path, ["Upload-Offset": "1"], "b").status == 410)
        #expect(!suite.files.contains { $0.hasPrefix(id) })
        let rows = try await suite.sql(
            "SELECT actor, details ->> 'owner' FROM bus.audit WHERE action = 'upload.removed' AND subject = 'upload:\(id)'"
        )
        #expect(rows == "insecure-dev|operator:insecure-dev", "one row for the one removal")
    }
}
