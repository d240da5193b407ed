import Contracts
import NIOCore
import NIOSSL
import TestSupport
import Testing
import TransferCore

@testable import TransferService

@Suite struct Origins {
    @Test(arguments: [
        ("http://Files.Example/a?b#c", "http://files.example"), ("https://a.b:443", "https://a.b"),
        ("http://a:8084/x", "http://a:8084"), ("http://[::1]:80/", "http://[::1]"), ("HTTP://a/", "http://a"),
        ("https://a:80/", "https://a:80"),
    ])
    func `origins are read from URLs`(url: String, want: String) { #expect(WebOrigin(url: url)?.description == want) }

    @Test(arguments: [
        "ftp://a/", "file:///etc/passwd", "http://", "http:///x", "http://a:0/", "http://a:65536/", "http://a:b/",
        "http://user:secret@a/", "http://user@a/", "http://@a/", "http://a b/", "http://a/\u{E9}", "http:/a", "a", "",
        "http://[::1", "http://[::1]x/", "http://a\\@b/", "http://a:+80/", "http://[fe80::1%25eth0]/",
        "http://[fe80::1%eth0]/", "http://127.0.0.1%00.example/", "http://a%2eb/",
    ])
    func `other texts have no origin`(url: String) { #expect(WebOrigin(url: url) == nil) }

    @Test func `only listed origins may be fetched from`() throws {
        let origins = try AllowedOrigins("http://127.0.0.1:8084, https://files.example")
        #expect(origins.mayFetch(try #require(WebOrigin(url: "http://127.0.0.1:8084/content/x"))))
        #expect(origins.mayFetch(try #require(WebOrigin(url: "https://files.example/"))))
        #expect(!origins.mayFetch(try #require(WebOrigin(url: "http://files.example/"))))
        #expect(!origins.mayFetch(try #require(WebOrigin(url: "http://127.0.0.1:5432/"))))
        #expect(throws: (any Error).self) { try AllowedOrigins("files.example") }
        #expect(throws: (any Error).self) { try AllowedOrigins("http://files.example/path") }
    }

    @Test func `with a star, listed origins may have private addresses`() async throws {
        let origins = try AllowedOrigins("*,http://127.0.0.1:1")
        #expect(try await origins.way(to: try #require(WebOrigin(url: "http://127.0.0.1:1/"))) == .direct)
        #expect(
            try await origins.way(to: try #require(WebOrigin(url: "http://93.184.216.34/")))
                == .pinned(["93.184.216.34"]))
    }

    /// Every notation of a private address that the system would connect to.
    @Test(arguments: [
        "127.0.0.1:2", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0X7F.0.0.1", "0177.0.0.1",
        "017700000001", "127.0.0.1.", "0", "0.0.0.0", "localhost", "LOCALHOST", "localhost.", "[::1]", "[::]",
        "[0:0:0:0:0:0:0:1]", "[::127.0.0.1]", "[::ffff:127.0.0.1]", "[::FFFF:7F00:1]", "[::ffff:a00:1]",
        "[64:ff9b::7f00:1]", "[fd00::1]", "[fe80::1]", "3232235777", "0xA9FEA9FE", "169.254.169.254",
    ])
    func `no notation of a private address is allowed`(host: String) async throws {
        let way = try await AllowedOrigins("*").way(to: try #require(WebOrigin(url: "http://\(host)/")))
        // Not every system resolves names with a dot at their end.
        #expect(way == .refused || host.hasSuffix(".") && way == .unresolvable)
    }

    @Test(arguments: [
        (["8.8.8.8"], AllowedOrigins.Way.pinned(["8.8.8.8"])), (["8.8.8.8", "10.0.0.1"], .refused),
        (["10.0.0.1", "8.8.8.8"], .refused), (["2606:4700::1111", "::1"], .refused), ([], .unresolvable),
    ])
    func `all addresses of a name must be public`(addresses: [String], want: AllowedOrigins.Way) async throws {
        let resolved = try addresses.map { try SocketAddress(ipAddress: $0, port: 0) }
        let origins = try AllowedOrigins("*", resolve: { _ in resolved })
        #expect(try await origins.way(to: try #require(WebOrigin(url: "http://files.example/"))) == want)
    }

    /// DNS rebinding: the name resolves to another address at each look-up. The request uses TLS and the name.
    @Test func `the checked address is the one that is connected to`() async throws {
        let certificate = try TestCertificate(names: ["files.example"])
        let (looked, other) = try await twins(certificate)
        let answers = Tally()
        let origins = try AllowedOrigins(
            "*",
            resolve: { host in
                try #require(host == "files.example")
                return [try SocketAddress(ipAddress: answers.add() == 1 ? "127.0.0.2" : "127.0.0.1", port: 0)]
            },
            isPublic: { $0.ipAddress == "127.0.0.2" })
        var fetching = try Fetching("https://FILES.example:\(looked.port)/")
        fetching.origins = origins
        fetching.trustRoots = try certificate.roots
        #expect(try await fetching.run().body == "files.example:\(looked.port)")
        #expect(answers.count == 1 && other.requests == 0)
        #expect(try await fetching.failure() == FetchFailure(.originNotAllowed))
        #expect(other.requests == 0)
    }

    /// Starts two servers at the same port of two addresses. It tries another port if one is taken.
    private func twins(_ certificate: TestCertificate) async throws -> (looked: CannedServer, other: CannedServer) {
        for _ in 0..<20 {
            let other = try await CannedServer.start(tls: certificate.server) { _ in ok("inside") }
            do {
                let looked = try await CannedServer.start(
                    host: "127.0.0.2", port: other.port, tls: certificate.server
                ) { ok($0.host) }
                return (looked, other)
            } catch is IOError { try await other.stop() }
        }
        throw Unexpected(description: "no port is free on both addresses")
    }

    @Test func `an address without a server is skipped`() async throws {
        let server = try await CannedServer.start(host: "127.0.0.2") { ok($0.host) }
        var fetching = try Fetching("http://files.example:\(server.port)/")
        func resolved(to addresses: String...) throws -> AllowedOrigins {
            let resolved = try addresses.map { try SocketAddress(ipAddress: $0, port: 0) }
            return try AllowedOrigins("*", resolve: { _ in resolved }, isPublic: { _ in true })
        }
        fetching.origins = try resolved(to: "127.0.0.3", "127.0.0.2")
        #expect(try await fetching.run().body == "files.example:\(server.port)")
        fetching.origins = try resolved(to: "127.0.0.3", "127.0.0.4")
        #expect(try await fetching.failure() == FetchFailure(.cannotConnect))
        #expect(server.requests == 1)
    }

    @Test(arguments: [
        // The edges of the ranges in the registries of RFC 6890.
        ("8.8.8.8", true), ("0.0.0.0", false), ("0.1.2.3", false), ("1.0.0.0", true), ("9.255.255.255", true),
        ("168.63.129.16", false), ("168.63.129.17", true),
        ("10.0.0.1", false), ("11.0.0.0", true), ("100.63.255.255", true), ("100.64.0.1", false),
        ("100.127.255.255", false), ("100.128.0.1", true), ("127.1.2.3", false), ("128.0.0.0", true),
        ("169.253.255.255", true), ("169.254.169.254", false), ("172.15.255.255", true), ("172.16.0.1", false),
        ("172.31.255.255", false), ("172.32.0.1", true), ("192.0.0.1", false), ("192.0.1.1", true),
        ("192.0.2.1", false), ("192.88.98.1", true), ("192.88.99.1", false), ("192.88.100.1", true),
        ("192.168.1.1", false), ("192.169.0.0", true), ("198.17.255.255", true), ("198.18.0.1", false),
        ("198.19.255.255", false), ("198.20.0.0", true), ("198.51.100.1", false), ("198.51.99.1", true),
        ("203.0.113.9", false), ("203.0.114.0", true), ("223.255.255.255", true), ("224.0.0.1", false),
        ("239.255.255.255", false), ("240.0.0.1", false), ("255.255.255.255", false),
        ("::", false), ("::1", false), ("::2", false), ("::8.8.8.8", false), ("::ffff:10.0.0.1", false),
        ("::ffff:8.8.8.8", true), ("::ffff:0:8.8.8.8", false), ("64:ff9b::a00:1", false), ("64:ff9b::808:808", true),
        ("64:ff9b:1::1", false), ("100::1", false), ("100:0:0:1::1", false), ("1fff::1", false), ("2000::1", true),
        ("2001::1", false), ("2001:1::1", false), ("2001:1ff::1", false), ("2001:200::1", true),
        ("2001:db7::1", true), ("2001:db8::1", false), ("2001:db9::1", true), ("2001:4860:4860::8888", true),
        ("2002:a00:1::", false), ("2002:808:808::", false), ("2003::1", true), ("2606:4700::1111", true),
        ("3ffe::1", true), ("3fff::1", false), ("3fff:fff::1", false), ("3fff:1000::1", true), ("4000::1", false),
        ("5f00::1", false), ("fc00::1", false), ("fd00::1", false), ("fe80::1", false), ("fec0::1", false),
        ("ff02::1", false),
    ])
    func `public addresses are distinguished from special ones`(text: String, isPublic: Bool) throws {
        #expect(try SocketAddress(ipAddress: text, port: 0).isPublic == isPublic, "\(text)")
    }
}
