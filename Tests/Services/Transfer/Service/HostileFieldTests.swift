import AsyncHTTPClient
import Contracts
import Foundation
import HTTPKit
import HTTPTypes
import NIOHTTP1
import TestSupport
import Testing
import TransferCore

@testable import TransferService

/// Random and almost valid fields. Each parser accepts them, ignores them or refuses them with its own problem.
@Suite(.ownThread) struct HostileFields {
    /// The number of random texts for each parser. `DORMOUSE_RANDOM_REQUESTS=1000000` makes it a million.
    private static let count =
        ProcessInfo.processInfo.environment["DORMOUSE_RANDOM_REQUESTS"].flatMap { Int($0) } ?? 5000

    @Test func `tus creations are valid or refused`() async throws {
        let lengths = NearlyRight("0", "5", "999999999999999")
        let metadata = NearlyRight("filename d29ybGQ=,is_confidential", "a YQ==", "key,other dA==")
        let parts = "/files/7d1ee7e4-5a1b-4c5e-9a0e-0d6fdd3a8f00"
        let concatenations = NearlyRight("partial", "final;\(parts) http://a\(parts)", "final;\(parts)")
        try await propertyTest(count: Self.count) { random in
            var headers: HTTPFields = [:]
            for (name, field) in [
                (HTTPField.Name.uploadLength, lengths), (.uploadDeferLength, NearlyRight("1")),
                (.uploadMetadata, metadata), (.uploadConcat, concatenations),
            ] where Int.random(in: 0...2, using: &random) > 0 { headers[name] = field.text(&random) }
            guard let creation = try Self.unlessRefused({ () throws(Problem) in try TusCreation(headers) }) else {
                return
            }
            try #require(creation.length.map { (0..<1_000_000_000_000_000).contains($0) } ?? true)
            try #require(creation.concatenation == headers[.uploadConcat])
            try #require((creation.parts != nil) == (creation.concatenation?.hasPrefix("final;") ?? false))
            try #require(creation.parts?.isEmpty != true && (creation.parts == nil || creation.length == nil))
            try #require(creation.parts?.allSatisfy { UUID(uuidString: $0) != nil } ?? true, "ids, and never paths")
            let keys = creation.metadata?.split(separator: ",").map { $0.split(separator: " ").first } ?? []
            try #require(Set(keys).count == keys.count && !keys.contains(nil), "each key occurs once")
        }
    }

    @Test func `checksums are valid or refused`() async throws {
        let fields = NearlyRight(
            "sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=", "sha256 uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek=")
        try await propertyTest(count: Self.count) { random in
            let text = fields.text(&random)
            guard let checksum = try Self.unlessRefused({ () throws(Problem) in try UploadChecksum(header: text) })
            else { return }
            try #require(checksum.digest.count == (checksum.algorithm == .sha1 ? 20 : 32))
            try #require(text.contains(checksum.algorithm.rawValue))
        }
    }

    @Test func `byte counts are decimal digits`() async throws {
        let numbers = NearlyRight("0", "12", "999999999999999", "007", "-1", "+1", "1e3", "٣", " 1")
        try await propertyTest(count: Self.count) { random in
            let text = numbers.text(&random)
            let scalars = text.unicodeScalars
            let isNumber = (1...15).contains(scalars.count) && scalars.allSatisfy { ("0"..."9").contains($0) }
            let want = isNumber ? Int(text) : nil
            try #require(naturalNumber(text) == want, "\(text)")
        }
    }

    @Test func `draft versions are known or refused`() async throws {
        let (versions, truths) = (NearlyRight("3", "5", "6", "8"), NearlyRight("?0", "?1"))
        try await propertyTest(count: Self.count) { random in
            var headers: HTTPFields = [:]
            for name in [HTTPField.Name.uploadComplete, .uploadIncomplete] { headers[name] = truths.text(&random) }
            if Bool.random(using: &random) { headers[.draftVersion] = versions.text(&random) }
            guard
                let version = try Self.unlessRefused(
                    as: .draftVersion, { () throws(Problem) in try UploadDraftVersion(headers) })
            else { return }
            try #require(version.rawValue == headers[.draftVersion] ?? "8")
            let told = headers[version == .three ? .uploadIncomplete : .uploadComplete]
            try #require((version.completes(headers) != nil) == ["?0", "?1"].contains(told))
        }
    }

    @Test func `Repr-Digest is checkable or ignored`() async throws {
        let fields = NearlyRight(
            "sha-256=:uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek=:", "sha-512=:YQ==:, sha-256=:YQ==:;a=1",
            "unixsum=30637, sha-512=?1")
        try await propertyTest(count: Self.count) { random in
            var headers: HTTPHeaders = [:]
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                headers.add(name: "Repr-Digest", value: fields.text(&random))
            }
            try #require(ReprDigest(headers)?.digests.isEmpty != true, "an accepted digest can be checked")
        }
    }

    @Test func `only a fitting response resumes a download`() async throws {
        let ranges = NearlyRight(
            "bytes 5-9/10", "bytes */10", "bytes 5-9/*", "bytes 0-999999999999999/1000000000000000")
        let tags = NearlyRight("\"a\"", "W/\"a\"", "\"\"")
        let dates = NearlyRight("Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT")
        var known = ResponseHead()
        (known.status, known.acceptsRanges, known.etag, known.contentLength) = (200, true, "\"a\"", 10)
        try await propertyTest(count: Self.count) { random in
            let headers: HTTPHeaders = [
                "Content-Range": ranges.text(&random), "ETag": tags.text(&random), "Date": dates.text(&random),
                "Last-Modified": dates.text(&random), "Content-Length": NearlyRight("5").text(&random),
            ]
            let status: HTTPResponseStatus = Bool.random(using: &random) ? .partialContent : .rangeNotSatisfiable
            let head = ResponseHead(HTTPClientResponse(status: status, headers: headers), askedForRange: true)
            for number in [head.rangeStart, head.completeLength, head.contentLength] {
                try #require(number.map { (0..<1_000_000_000_000_000).contains($0) } ?? true)
            }
            guard ResumeRule.decide(head, held: 5, known: known) == .resume else { return }
            let fits =
                head.status == 416 ? head.completeLength == 5 : head.rangeStart == 5 && head.etag ?? "\"a\"" == "\"a\""
            try #require(fits, "the response continues the stored bytes")
        }
    }

    @Test func `URLs are valid or refused`() async throws {
        let urls = NearlyRight(
            "http://files.example/a?b#c", "https://a.b:443", "http://[::1]:80/", "http://user:secret@a/",
            "HTTP://A:65535?x"
        )
        try await propertyTest(count: Self.count) { random in
            let url = urls.text(&random)
            guard let origin = WebOrigin(url: url) else { return }
            try #require(
                (1...65535).contains(origin.port) && !origin.host.isEmpty && origin.host == origin.host.lowercased())
            try #require(WebOrigin(url: origin.description) == origin, "a printed origin can be read again")
            let destination = try FetchRequest(url: url).destination()
            try #require(destination.origin == origin && destination.target.hasPrefix("/"))
            try #require(
                !destination.target.contains { "# \r\n".contains($0) }, "the target fits into a request line")
            try #require(WebOrigin(url: destination.url) == origin)
        }
    }

    @Test func `credentials do not follow a redirect to another origin`() async throws {
        let targets = NearlyRight(
            "/b", "there?x", "//other.example/x", "https://files.example/", "http://files.example:80/../a", "ftp://a/",
            "#x")
        let request = FetchRequest(
            url: "http://files.example/a/b", headers: ["Authorization": "Bearer a", "Cookie": "b"])
        let home = WebOrigin(url: request.url)
        try await propertyTest(count: Self.count) { random in
            let headers: HTTPHeaders = ["Location": targets.text(&random)]
            guard let redirect = Redirect(status: 302, headers: headers, to: request) else { return }
            try #require(!redirect.url.isEmpty && redirect.url.utf8.count <= Redirect.longestURL)
            let next = request.following(redirect)
            let isHome = WebOrigin(url: next.url) == home
            try #require(redirect.crossesOrigins != isHome)
            try #require(next.headers.contains(name: "Authorization") == isHome, "credentials stay at their origin")
            // A target without an http URL ends the task.
            if let destination = try? next.destination() { try #require((destination.origin == home) == isHome) }
        }
    }

    /// Returns nil if the parser refuses with its own problem.
    private static func unlessRefused<T>(
        as problem: Problem = .invalidHeader, _ read: () throws(Problem) -> T
    ) throws -> T? {
        do throws(Problem) { return try read() } catch {
            try #require(error.code == problem.code)
            return nil
        }
    }
}

/// Valid texts with a few mutations, or their words in any order.
private struct NearlyRight {
    private static let odd = [
        "\"", "\\", ",", ";", "=", ":", "-", "/", " ", "\t", "*", "%", "@", "[", "]", "#", "?", "0", "9", "a", "é",
        "\u{301}",
        "99999999999999999999", "\u{7f}", "..",
    ]

    let examples: [String]
    private let words: [String]

    init(_ examples: String...) {
        self.examples = examples
        words = Self.odd + examples.flatMap { $0.split(separator: " ").map(String.init) }
    }

    func text(_ random: inout SplitMix64) -> String {
        var pieces = Array(examples.randomElement(using: &random) ?? "").map(String.init)
        if Int.random(in: 0..<4, using: &random) == 0 {
            pieces = (0..<Int.random(in: 0...6, using: &random)).map { _ in words.randomElement(using: &random) ?? "" }
        }
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            let taskKey = Int.random(in: 0...pieces.count, using: &random)
            if Bool.random(using: &random), taskKey < pieces.count { pieces.remove(at: taskKey) }
            if Bool.random(using: &random) {
                pieces.insert(words.randomElement(using: &random) ?? "", at: min(taskKey, pieces.count))
            }
        }
        return pieces.joined()
    }
}
