import TestSupport
import Testing
import Timeline

@testable import TransferService

/// Parsing of ranges (RFC 9110 section 14).
@Suite struct Ranges {
    static let cases: [(header: String?, size: Int, want: ByteRanges)] = [
        (nil, 10, .whole),
        ("bytes=0-4", 10, .some([0..<5])),
        ("bytes=0-0", 10, .some([0..<1])),
        ("bytes=5-", 10, .some([5..<10])),
        ("bytes=5-999", 10, .some([5..<10])),
        ("bytes=-3", 10, .some([7..<10])),
        ("bytes=-999", 10, .some([0..<10])),
        ("bytes=-0", 10, .unsatisfiable),
        ("bytes=10-", 10, .unsatisfiable),
        ("bytes=10-12", 10, .unsatisfiable),
        ("bytes=0-", 0, .unsatisfiable),
        ("bytes=99999999999999999999-", 10, .unsatisfiable),
        ("bytes=0-99999999999999999999", 10, .some([0..<10])),
        ("BYTES=1-2", 10, .some([1..<3])),
        ("bytes= 1-2 , 4-5", 10, .some([1..<3, 4..<6])),
        ("bytes=4-5,,1-2", 10, .some([4..<6, 1..<3])),
        ("bytes=1-2,20-30", 10, .some([1..<3])),
        ("bytes=20-30,40-50", 10, .unsatisfiable),
        ("bytes=0-9,0-9", 10, .some([0..<10])),
        ("bytes=0-1,3-4,2-2", 10, .some([0..<5])),
        ("bytes=7-8,0-1,1-3,5-6", 10, .some([5..<9, 0..<4])),
        ("bytes=-5", 0, .whole),
        ("bytes=5-4", 10, .whole),
        ("bytes=-", 10, .whole),
        ("bytes=a-b", 10, .whole),
        ("bytes=1", 10, .whole),
        ("bytes=+1-2", 10, .whole),
        ("bytes=", 10, .whole),
        ("bytes", 10, .whole),
        ("lines=1-2", 10, .whole),
        ("bytes=1-2,x", 10, .whole),
        ("bytes=" + (0..<17).map { "\($0)-\($0)" }.joined(separator: ","), 100, .whole),
    ]

    @Test(arguments: cases.indices)
    func `ranges are parsed and merged`(index: Int) {
        let (header, size, want) = Self.cases[index]
        #expect(ByteRanges(header: header, size: size) == want, "\(header ?? "none") of \(size)")
    }
}

/// Evaluation of preconditions (RFC 9110 section 13).
@Suite struct PreconditionTests {
    static let modified = Instant("1994-11-06T08:49:37.000Z") ?? .epoch
    static let current = Preconditions.Validators(etag: "\"a\"", modifiedAt: modified)
    static let now = Instant("2026-03-01T00:00:00.000Z") ?? .epoch
    static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    static let later = "Sun, 06 Nov 1994 08:49:38 GMT"
    static let earlier = "Sun, 06 Nov 1994 08:49:36 GMT"

    static let cases: [(change: @Sendable (inout Preconditions) -> Void, want: ContentAnswer)] = [
        ({ _ in }, .whole),
        ({ $0.ifMatch = "\"a\"" }, .whole),
        ({ $0.ifMatch = "\"b\", \"a\"" }, .whole),
        ({ $0.ifMatch = "*" }, .whole),
        ({ $0.ifMatch = "\"b\"" }, .preconditionFailed),
        ({ $0.ifMatch = "W/\"a\"" }, .preconditionFailed),
        ({ $0.ifUnmodifiedSince = date }, .whole),
        ({ $0.ifUnmodifiedSince = earlier }, .preconditionFailed),
        ({ $0.ifUnmodifiedSince = "yesterday" }, .whole),
        ({ $0.ifNoneMatch = "\"a\"" }, .notModified),
        ({ $0.ifNoneMatch = "W/\"a\"" }, .notModified),
        ({ $0.ifNoneMatch = "\"b\"" }, .whole),
        ({ $0.ifModifiedSince = date }, .notModified),
        ({ $0.ifModifiedSince = later }, .notModified),
        ({ $0.ifModifiedSince = earlier }, .whole),
        (
            {
                $0.ifNoneMatch = "\"b\""; $0.ifModifiedSince = date
            }, .whole
        ),
        ({ $0.range = "bytes=1-2" }, .ranges([1..<3])),
        ({ $0.range = "bytes=50-" }, .unsatisfiable),
        (
            {
                $0.range = "bytes=1-2"; $0.ifRange = "\"a\""
            }, .ranges([1..<3])
        ),
        (
            {
                $0.range = "bytes=1-2"; $0.ifRange = "W/\"a\""
            }, .whole
        ),
        (
            {
                $0.range = "bytes=1-2"; $0.ifRange = "\"b\""
            }, .whole
        ),
        (
            {
                $0.range = "bytes=1-2"; $0.ifRange = date
            }, .ranges([1..<3])
        ),
        (
            {
                $0.range = "bytes=1-2"; $0.ifRange = later
            }, .whole
        ),
        (
            {
                $0.range = "bytes=50-"; $0.ifRange = "\"b\""
            }, .whole
        ),
        (
            {
                $0.range = "bytes=1-2"; $0.ifNoneMatch = "\"a\""
            }, .notModified
        ),
    ]

    @Test(arguments: cases.indices)
    func `preconditions are evaluated in the order of the RFC`(index: Int) {
        var conditions = Preconditions()
        Self.cases[index].change(&conditions)
        let answer = ContentAnswer(conditions, on: Self.current, size: 10, isHead: false, now: Self.now)
        #expect(answer == Self.cases[index].want, "case \(index)")
    }

    @Test func `HEAD ignores ranges`() {
        var conditions = Preconditions()
        conditions.range = "bytes=1-2"
        let answer = ContentAnswer(conditions, on: Self.current, size: 10, isHead: true, now: Self.now)
        #expect(answer == .whole)
    }
}

/// HTTP dates (RFC 9110 section 5.6.7).
@Suite struct Dates {
    private static let now = PreconditionTests.now

    @Test func `dates are printed in the preferred form`() {
        #expect(HTTPDate.text(PreconditionTests.modified) == PreconditionTests.date)
        #expect(HTTPDate.text(Instant(milliseconds: 951_782_400_000)) == "Tue, 29 Feb 2000 00:00:00 GMT")
        #expect(HTTPDate.text(Instant(milliseconds: .min)) == "Thu, 01 Jan 1970 00:00:00 GMT")
        #expect(HTTPDate.text(Instant(milliseconds: .max)) == "Fri, 31 Dec 9999 23:59:59 GMT")
    }

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ])
    func `dates are read in all three forms`(text: String) {
        #expect(HTTPDate.instant(text, now: Self.now) == PreconditionTests.modified)
    }

    @Test func `a year of two digits is at most 50 years ahead`() {
        let near = Instant("2076-11-06T08:49:37.000Z"), past = Instant("1977-11-06T08:49:37.000Z")
        #expect(HTTPDate.instant("Friday, 06-Nov-76 08:49:37 GMT", now: Self.now) == near)
        #expect(HTTPDate.instant("Sunday, 06-Nov-77 08:49:37 GMT", now: Self.now) == past)
    }

    @Test(arguments: [
        "", "yesterday", "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET",
        "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Noo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun 06 Nov 1994 08:49:37 GMT",
    ])
    func `other texts are no dates`(text: String) { #expect(HTTPDate.instant(text, now: Self.now) == nil) }
}

/// Parsing of entity tags (RFC 9110 section 8.8.3).
@Suite struct Tags {
    @Test(arguments: [
        ("*", EntityTags.any), (" * ", .any), ("", .listed([])),
        ("\"a\"", .listed([EntityTag(text: "\"a\"", isWeak: false)])),
        ("W/\"a\"", .listed([EntityTag(text: "\"a\"", isWeak: true)])),
        ("w/\"a\", x, \"b\"", .listed([EntityTag(text: "\"b\"", isWeak: false)])),
        (
            "\"a,b\" ,, \"\"",
            .listed([EntityTag(text: "\"a,b\"", isWeak: false), EntityTag(text: "\"\"", isWeak: false)])
        ),
        ("\"open", .listed([])),
    ])
    func `lists of entity tags are parsed`(text: String, want: EntityTags) { #expect(EntityTags(text) == want) }
}

/// Random headers and paths.
@Suite struct OddHeaders {
    @Test func `random headers and paths are parsed without a crash`() async throws {
        let words = [
            "bytes=", "0", "-", ",", "9", "W/", "\"", "a", "*", " ", "\t", "=", ";", "sha-256", "99999999999999999999",
            "Sun,", "GMT", "é", "\u{301}", "%", "2f", "/", "..", "\u{0}",
        ]
        try await propertyTest(count: 2000) { generator in
            let count = Int.random(in: 0...12, using: &generator)
            let text = (0..<count).map { _ in words.randomElement(using: &generator) ?? "" }.joined()
            let size = Int.random(in: 0...20, using: &generator)
            if case .some(let ranges) = ByteRanges(header: "bytes=" + text, size: size) {
                try #require(ranges.allSatisfy { !$0.isEmpty && $0.lowerBound >= 0 && $0.upperBound <= size })
                try #require(ranges.reduce(0) { $0 + $1.count } <= size, "no byte is sent twice")
            }
            _ = EntityTags(text)
            _ = DigestAlgorithm(wanted: text)
            _ = HTTPDate.instant(text, now: .epoch)
            if let path = try? ContentPath(target: "/content/" + text) {
                let segments = path.text.split(separator: "/", omittingEmptySubsequences: false)
                try #require(!segments.contains { ["", ".", ".."].contains($0) })
            }
        }
    }
}
