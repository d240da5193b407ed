import NIOCore
import Testing
import TransferMachine

@testable import TransferService

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
