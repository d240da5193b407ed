import NIOCore
import Testing
import Timeline
import TransferMachine

@testable import TransferService

/// RFC 9110 section 14, by examples.
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
        ("bytes=0-9,0-9", 10, .whole),
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
    func areReadByTheBook(index: Int) {
        let (header, size, want) = Self.cases[index]
        #expect(ByteRanges(header: header, size: size) == want, "\(header ?? "none") of \(size)")
    }
}

/// RFC 9110 section 13, by examples.
@Suite struct Preconditions {
    static let modified = Instant("1994-11-06T08:49:37.000Z") ?? .epoch
    static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    static let later = "Sun, 06 Nov 1994 08:49:38 GMT"
    static let earlier = "Sun, 06 Nov 1994 08:49:36 GMT"

    static let cases: [(change: @Sendable (inout ContentAnswer.Conditions) -> Void, want: ContentAnswer)] = [
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
    func decideInTheirOrder(index: Int) {
        var conditions = ContentAnswer.Conditions()
        Self.cases[index].change(&conditions)
        let answer = ContentAnswer(conditions, etag: "\"a\"", modifiedAt: Self.modified, size: 10, isHead: false)
        #expect(answer == Self.cases[index].want, "case \(index)")
    }

    @Test func headKnowsNoRanges() {
        var conditions = ContentAnswer.Conditions()
        conditions.range = "bytes=1-2"
        let answer = ContentAnswer(conditions, etag: "\"a\"", modifiedAt: Self.modified, size: 10, isHead: true)
        #expect(answer == .whole)
    }

    @Test func datesGoThereAndBack() {
        #expect(HTTPDate.text(Self.modified) == Self.date)
        #expect(HTTPDate.instant(Self.date) == Self.modified)
        #expect(HTTPDate.text(Instant(milliseconds: 951_782_400_000)) == "Tue, 29 Feb 2000 00:00:00 GMT")
        #expect(HTTPDate.instant("Sunday, 06-Nov-94 08:49:37 GMT") == nil)
    }
}

@Suite struct Origins {
    @Test(arguments: [
        ("http://Files.Example/a?b#c", "http://files.example"), ("https://a.b:443", "https://a.b"),
        ("http://a:8084/x", "http://a:8084"), ("http://[::1]:80/", "http://[::1]"), ("HTTP://a/", "http://a"),
        ("https://a:80/", "https://a:80"),
    ])
    func areReadFromURLs(url: String, want: String) { #expect(WebOrigin(url: url)?.description == want) }

    @Test(arguments: [
        "ftp://a/", "file:///etc/passwd", "http://", "http:///x", "http://a:0/", "http://a:65536/", "http://a:b/",
        "http://user:secret@a/", "http://a b/", "http://a/\u{E9}", "http:/a", "a", "", "http://[::1", "http://[::1]x/",
        "http://a\\@b/", "http://a:+80/",
    ])
    func areNotMadeOutOfAnythingElse(url: String) { #expect(WebOrigin(url: url) == nil) }

    @Test func onlyListedOnesMayBeFetchedFrom() throws {
        let origins = try AllowedOrigins("http://127.0.0.1:8084, https://files.example")
        #expect(origins.mayFetch(try #require(WebOrigin(url: "http://127.0.0.1:8084/content/x"))))
        #expect(origins.mayFetch(try #require(WebOrigin(url: "https://files.example/"))))
        #expect(!origins.mayFetch(try #require(WebOrigin(url: "http://files.example/"))))
        #expect(!origins.mayFetch(try #require(WebOrigin(url: "http://127.0.0.1:5432/"))))
        #expect(throws: (any Error).self) { try AllowedOrigins("files.example") }
        #expect(throws: (any Error).self) { try AllowedOrigins("http://files.example/path") }
    }

    @Test func withAStarPrivateAddressesAreStillRefusedUnlessListed() async throws {
        let origins = try AllowedOrigins("*,http://127.0.0.1:1")
        #expect(try await origins.way(to: try #require(WebOrigin(url: "http://127.0.0.1:1/"))) == .direct)
        #expect(try await origins.way(to: try #require(WebOrigin(url: "http://127.0.0.1:2/"))) == .refused)
        #expect(try await origins.way(to: try #require(WebOrigin(url: "http://localhost:2/"))) == .refused)
        #expect(try await origins.way(to: try #require(WebOrigin(url: "http://[::1]:2/"))) == .refused)
        #expect(try await origins.way(to: try #require(WebOrigin(url: "http://2130706433/"))) == .refused)
        #expect(
            try await origins.way(to: try #require(WebOrigin(url: "http://93.184.216.34/")))
                == .pinned("93.184.216.34"))
    }

    @Test(arguments: [
        ("8.8.8.8", true), ("0.1.2.3", false), ("10.0.0.1", false), ("100.64.0.1", false), ("100.128.0.1", true),
        ("127.1.2.3", false), ("169.254.169.254", false), ("172.15.0.1", true), ("172.16.0.1", false),
        ("172.31.255.255", false), ("172.32.0.1", true), ("192.0.0.1", false), ("192.0.2.1", false),
        ("192.168.1.1", false), ("198.18.0.1", false), ("198.51.100.1", false), ("198.51.99.1", true),
        ("203.0.113.9", false), ("224.0.0.1", false), ("255.255.255.255", false), ("::", false), ("::1", false),
        ("::ffff:10.0.0.1", false), ("::ffff:8.8.8.8", true), ("64:ff9b::a00:1", false), ("fe80::1", false),
        ("fd00::1", false), ("ff02::1", false), ("2001:db8::1", false), ("2002:a00:1::", false),
        ("2606:4700::1111", true),
    ])
    func knowPublicAddresses(text: String, isPublic: Bool) throws {
        #expect(AllowedOrigins.isPublic(try SocketAddress(ipAddress: text, port: 0)) == isPublic, "\(text)")
    }
}
