import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// The interop versions of the IETF draft over HTTP.
@Suite(.tags(.database, .processes), .serialized) struct DraftUploads {
    /// Returns the header by which a version says whether an upload is complete.
    private static func state(_ version: String, _ isComplete: Bool) -> [String: String] {
        version == "3"
            ? ["Upload-Incomplete": isComplete ? "?0" : "?1"] : ["Upload-Complete": isComplete ? "?1" : "?0"]
    }

    private static func tells(_ answer: HTTPAnswer, _ version: String, _ isComplete: Bool) -> Bool {
        state(version, isComplete).allSatisfy { answer[$0.key] == $0.value }
    }

    private static let partial = ["Content-Type": "application/partial-upload"]

    @Test func `every draft version creates, appends and refuses by its own rules`() async throws {
        let (suite, replica) = try await UploadsSuite.start(["--upload-max-size", "100"])
        defer { suite.stop(replica) }
        for version in ["3", "5", "6", "8"] {
            try await goes(replica, version)
            try await refuses(replica, version)
        }
        try await knowsItsLimits(replica)
        try await isOneResource(replica)
    }

    private func goes(_ replica: UploadsSuite.Replica, _ version: String) async throws {
        let whole = try await replica.draft(version, .POST, "/uploads", Self.state(version, true), "whole")
        #expect(whole.status == 201 && Self.tells(whole, version, true) && whole["Upload-Offset"] == "5")
        let bytes = try await replica.send(.GET, try #require(whole.uploadPath))
        #expect(String(buffer: bytes.body) == "whole")

        let begun = try await replica.draft(version, .POST, "/uploads", Self.state(version, false), "abc")
        #expect(begun.status == 201 && Self.tells(begun, version, false) && begun["Upload-Offset"] == "3")
        let path = try #require(begun.uploadPath)
        let head = try await replica.draft(version, .HEAD, path)
        #expect(head.status == 204 && Self.tells(head, version, false) && head["Upload-Offset"] == "3")
        #expect(head["Cache-Control"] == "no-store" && head["Upload-Length"] == nil)
        let age = ["6": "expires=", "8": "max-age="][version] ?? ""
        #expect(age.isEmpty ? head["Upload-Limit"] == nil : head["Upload-Limit"]?.contains(age) == true)

        let more = Self.state(version, false).merging(["Upload-Offset": "3"].merging(Self.partial) { $1 }) { $1 }
        let appended = try await replica.draft(version, .PATCH, path, more, "def")
        #expect(appended.status == (age.isEmpty ? 201 : 204))
        #expect(Self.tells(appended, version, false) && appended["Upload-Offset"] == "6")
        let last = Self.state(version, true).merging(["Upload-Offset": "6"].merging(Self.partial) { $1 }) { $1 }
        let done = try await replica.draft(version, .PATCH, path, last, "ghi")
        #expect(done.status == 201 && Self.tells(done, version, true) && done["Upload-Offset"] == "9")
        #expect(String(buffer: try await replica.send(.GET, path).body) == "abcdefghi")
        let after = try await replica.draft(version, .HEAD, path)
        #expect(Self.tells(after, version, true) && after["Upload-Length"] == (age.isEmpty ? nil : "9"))
        #expect(try await replica.draft(version, .DELETE, path).status == 204)
        #expect(try await replica.draft(version, .HEAD, path).status == 410)
    }

    private func refuses(_ replica: UploadsSuite.Replica, _ version: String) async throws {
        let begun = try await replica.draft(version, .POST, "/uploads", Self.state(version, false), "abc")
        let path = try #require(begun.uploadPath)
        let ahead = Self.state(version, true).merging(["Upload-Offset": "4"].merging(Self.partial) { $1 }) { $1 }
        let mismatch = try await replica.draft(version, .PATCH, path, ahead, "x")
        #expect(mismatch.status == 409 && mismatch["Upload-Offset"] == "3" && Self.tells(mismatch, version, false))
        #expect(mismatch["Content-Type"] == "application/problem+json")
        #expect(
            mismatch.json["type"]?.string
                == "https://iana.org/assignments/http-problem-types#mismatching-upload-offset")
        #expect(mismatch.json["expected-offset"]?.int == 3 && mismatch.json["provided-offset"]?.int == 4)
        #expect(try await replica.draft(version, .PATCH, path, Self.partial, "x").status == 400, "no offset")

        let told = try await replica.draft(version, .HEAD, path, ["Upload-Offset": "3"])
        #expect(told.status == (version == "8" ? 204 : 400))
        var untyped = Self.state(version, false)
        untyped["Upload-Offset"] = "3"
        #expect(try await replica.draft(version, .PATCH, path, untyped, "d").status == (version < "6" ? 201 : 415))

        let done = try await replica.draft(version, .POST, "/uploads", Self.state(version, true), "abc")
        let again = Self.state(version, true).merging(["Upload-Offset": "3"].merging(Self.partial) { $1 }) { $1 }
        let completed = try await replica.draft(version, .PATCH, try #require(done.uploadPath), again, "d")
        #expect(completed.status == 400)
        #expect(completed.json["type"]?.string?.hasSuffix("#completed-upload") == true)
    }

    private func knowsItsLimits(_ replica: UploadsSuite.Replica) async throws {
        #expect(try await replica.draft("4", .POST, "/uploads", ["Upload-Complete": "?1"], "x").status == 400)
        #expect(try await replica.draft("8", .HEAD, "/uploads/00000000-0000-4000-8000-000000000000").status == 404)
        let options = try await replica.send(.OPTIONS, "/uploads")
        #expect(options.status == 204 && options["Upload-Limit"] == "max-size=100")
        #expect(options["Accept-Patch"] == "application/partial-upload")
        let large = String(repeating: "x", count: 101)
        for length in [[:], ["Upload-Length": "101"]] {
            let headers = ["Upload-Complete": length.isEmpty ? "?1" : "?0"].merging(length) { $1 }
            let refused = try await replica.draft("8", .POST, "/uploads", headers, length.isEmpty ? large : "x")
            #expect(refused.status == 413 && refused["Upload-Limit"] == "max-size=100")
        }
        let lies = ["Upload-Complete": "?1", "Upload-Length": "4"]
        let inconsistent = try await replica.draft("8", .POST, "/uploads", lies, "abc")
        #expect(inconsistent.status == 400)
        #expect(inconsistent.json["type"]?.string?.hasSuffix("#inconsistent-upload-length") == true)
        let begun = try await replica.draft(
            "8", .POST, "/uploads", ["Upload-Complete": "?0", "Upload-Length": "4"], "abc")
        let path = try #require(begun.uploadPath)
        for (state, body) in [("?1", "de"), ("?0", "de"), ("?1", "")] {
            let headers = ["Upload-Complete": state, "Upload-Offset": "3"].merging(Self.partial) { $1 }
            let wrong = try await replica.draft("8", .PATCH, path, headers, body)
            #expect(wrong.status == 400, "\(state) \(body)")
            #expect(wrong.json["type"]?.string?.hasSuffix("#inconsistent-upload-length") == true)
        }
        let unsaid = ["Upload-Offset": "3"].merging(Self.partial) { $1 }
        #expect(try await replica.draft("8", .PATCH, path, unsaid, "d").status == 400)
        #expect(try await replica.draft("8", .HEAD, path)["Upload-Length"] == "4")
        let plain = try await replica.send(.POST, "/uploads", [:], ByteBuffer(string: "plain"))
        #expect(plain.status == 201 && plain["Upload-Complete"] == "?1")
    }

    private func isOneResource(_ replica: UploadsSuite.Replica) async throws {
        let tus = try await replica.begin(["Upload-Length": "6"], "abc")
        let id = try #require(tus.split(separator: "/").last)
        let head = try await replica.draft("8", .HEAD, "/uploads/\(id)")
        #expect(head["Upload-Offset"] == "3" && head["Upload-Length"] == "6" && head["Upload-Complete"] == "?0")
        let last = ["Upload-Complete": "?1", "Upload-Offset": "3"].merging(Self.partial) { $1 }
        #expect(try await replica.draft("8", .PATCH, "/uploads/\(id)", last, "def").status == 201)
        #expect(try await replica.offset(tus) == 6)

        let begun = try await replica.draft("8", .POST, "/uploads", ["Upload-Complete": "?0"], "abc")
        let path = "/files/" + (try #require(begun["Location"]?.split(separator: "/").last))
        #expect(try await replica.tus(.HEAD, path)["Upload-Defer-Length"] == "1")
        #expect(try await replica.tus(.PATCH, path, ["Upload-Offset": "3", "Upload-Length": "6"], "def").status == 204)
        #expect(String(buffer: try await replica.send(.GET, path).body) == "abcdef")
    }

    @Test(arguments: ["3", "5", "6", "8"])
    func `a cut upload continues with the Location of its 104`(version: String) async throws {
        let (suite, replica) = try await UploadsSuite.start()
        defer { suite.stop(replica) }
        let headers = [
            "Upload-Draft-Interop-Version: \(version)", "Content-Length: 10",
            version == "3" ? "Upload-Incomplete: ?0" : "Upload-Complete: ?1",
        ]
        let wire = try await replica.half("POST", "/uploads", headers, ByteBuffer(string: "abcd"))
        let heard = try await wire.heard("\r\n\r\n")
        #expect(heard.hasPrefix("HTTP/1.1 104 Upload Resumption Supported\r\n"))
        #expect(heard.contains("\r\nUpload-Draft-Interop-Version: \(version)\r\n"))
        #expect(heard.contains("\r\nUpload-Limit: max-size=") == (version > "5"))
        #expect(!heard.lowercased().contains("content-length"))
        let location = try #require(heard.split(separator: "\r\n").first { $0.hasPrefix("Location: ") })
        let path = try #require(pathOfUpload(String(location.dropFirst("Location: ".count))))
        try await wire.close()
        let told = try #require(try await replica.draft(version, .HEAD, path)["Upload-Offset"].flatMap { Int($0) })
        #expect((0...4).contains(told))
        let rest = Self.state(version, true).merging(["Upload-Offset": "\(told)"].merging(Self.partial) { $1 }) { $1 }
        let body = String("abcdefghij".dropFirst(told))
        #expect(try await replica.draft(version, .PATCH, path, rest, body).status == 201)
        #expect(String(buffer: try await replica.send(.GET, path).body) == "abcdefghij")
    }

    /// The length is unknown, so only the last chunk completes the body.
    @Test func `a cut chunked body is not complete`() async throws {
        let (suite, replica) = try await UploadsSuite.start()
        defer { suite.stop(replica) }
        let headers = ["Upload-Draft-Interop-Version: 8", "Upload-Complete: ?1", "Transfer-Encoding: chunked"]
        for part in ["4\r\nabcd\r\n", "4\r\nabcd\r\n0\r\n", "9\r\nabcd"] {
            let wire = try await replica.half("POST", "/uploads", headers, ByteBuffer(string: part))
            let heard = try await wire.heard("\r\n\r\n")
            let path = try #require(heard.firstMatch(of: #/Location: (\S+)/#).flatMap { pathOfUpload(String($0.1)) })
            try await wire.close()
            let head = try await replica.draft("8", .HEAD, path)
            let told = try #require(head["Upload-Offset"].flatMap { Int($0) })
            #expect(head["Upload-Complete"] == "?0" && head["Upload-Length"] == nil && (0...4).contains(told))
            let rest = ["Upload-Complete": "?1", "Upload-Offset": "\(told)"].merging(Self.partial) { $1 }
            let body = String("abcdef".dropFirst(told))
            #expect(try await replica.draft("8", .PATCH, path, rest, body).status == 201)
            #expect(String(buffer: try await replica.send(.GET, path).body) == "abcdef")
        }
    }

    @Test func `the final response follows the interim one on the same connection`() async throws {
        let (suite, replica) = try await UploadsSuite.start()
        defer { suite.stop(replica) }
        let headers = ["Upload-Draft-Interop-Version: 8", "Upload-Complete: ?1", "Transfer-Encoding: chunked"]
        let wire = try await replica.half("POST", "/uploads", headers, ByteBuffer(string: "3\r\nabc\r\n"))
        _ = try await wire.heard("104 ")
        try await wire.send("2\r\nde\r\n0\r\n\r\n")
        let heard = try await wire.heard("Upload-Complete: ?1")
        #expect(heard.contains("\r\n\r\nHTTP/1.1 201 Created\r\n"))
        try await wire.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(try await wire.heard("200 OK").contains("200 OK"), "the connection stays open")
        let silent = try await replica.half("POST", "/uploads", ["Content-Length: 1"], ByteBuffer(string: "a"))
        #expect(try await silent.heard("201 Created").hasPrefix("HTTP/1.1 201"), "without the header there is no 104")
    }
}
