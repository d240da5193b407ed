import Foundation
import NIOCore
import Records
import TestSupport
import Testing

@testable import HTTPKit

/// The PROXY protocol: the addresses of clients behind a proxy.
@Suite("PROXY protocol", .tags(.processes), .timeLimit(.minutes(5))) struct ProxyHeaderTests {
    private static let request = "GET /v1/devices/d1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    private static let trust = ["--proxy-protocol-from", "10.0.0.0/8,127.0.0.1"]

    /// Version 2 with IPv4: from 192.0.2.9, port 0x1234, to 192.0.2.1, port 80.
    private static let block: [UInt8] =
        [13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10, 0x21, 0x11, 0, 12] + [
            192, 0, 2, 9, 192, 0, 2, 1, 0x12, 0x34, 0, 80,
        ]

    private func addresses(_ service: TestService) throws -> [String] {
        try service.log.all.map { try JSON(parsing: Array($0.utf8)) }.filter { $0["message"] == "answered request" }
            .compactMap { $0["address"]?.string }
    }

    // MARK: The header

    @Test(arguments: [
        ("PROXY TCP4 192.0.2.9 192.0.2.1 4660 80\r\n", "192.0.2.9"),
        ("PROXY TCP6 2001:db8::9 2001:db8::1 4660 80\r\n", "2001:db8::9"), ("PROXY UNKNOWN\r\n", nil),
        ("PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n", nil), ("GET / HTTP/1.1\r\n", nil), ("PROPFIND / HTTP/1.1\r\n", nil),
        ("\u{16}\u{3}\u{1}", nil),
    ])
    func `a header of version 1 names the client, at any split of its bytes`(_ text: String, _ client: String?) throws {
        let bytes = Array(text.utf8)
        let header = try #require(try ProxyHeader(bytes + Array("rest".utf8)))
        #expect(header.client?.ipAddress == client)
        #expect(header.length == (text.hasPrefix("PROXY ") ? bytes.count : 0))
        if text.hasPrefix("PROXY ") {
            for count in 0..<bytes.count { #expect(try ProxyHeader(Array(bytes.prefix(count))) == nil, "\(count)") }
        }
    }

    @Test func `a header of version 2 names the client, at any split of its bytes`() throws {
        let block = Self.block
        for count in 0..<block.count { #expect(try ProxyHeader(Array(block.prefix(count))) == nil, "\(count)") }
        let header = try #require(try ProxyHeader(block + [71]))
        #expect(header.length == 28 && header.client?.ipAddress == "192.0.2.9" && header.client?.port == 0x1234)
        // IPv6, with three bytes of a further value.
        var long =
            Array(block.prefix(16)) + Array(repeating: 0, count: 15) + [9] + Array(repeating: 0, count: 20) + [4, 0, 0]
        (long[13], long[15]) = (0x21, 39)
        #expect(try ProxyHeader(long)?.client?.ipAddress == "::9")
        #expect(try ProxyHeader(long)?.length == 55)
        // The proxy itself, a local socket, and no family.
        for (index, value) in [(12, UInt8(0x20)), (13, 0x31), (13, 0x00)] {
            var other = block
            other[index] = value
            #expect(try ProxyHeader(other) == ProxyHeader(28), "\(value)")
        }
    }

    @Test(arguments: [
        "PROXY TCP4 192.0.2.9 192.0.2.1 4660\r\n", "PROXY TCP4 2001:db8::9 2001:db8::1 1 2\r\n",
        "PROXY TCP4 192.0.2.9 192.0.2.1 99999 80\r\n", "PROXY TCP6 192.0.2.9 192.0.2.1 1 2\r\n",
        "PROXY UDP4 192.0.2.9 192.0.2.1 1 2\r\n", "PROXY TCP4 a b 1 2\r\n", "PROXY UNKNOWN\n",
        "PROXY " + String(repeating: "x", count: 110),
    ])
    func `an invalid header of version 1 is refused`(_ text: String) {
        #expect(throws: ProxyHeader.Invalid.self) { try ProxyHeader(Array(text.utf8)) }
    }

    @Test(arguments: [(12, UInt8(0x11)), (12, 0x22), (13, 0x41), (14, 0xFF), (15, 8)])
    func `an invalid header of version 2 is refused`(_ index: Int, _ value: UInt8) {
        var block = Self.block
        block[index] = value
        #expect(throws: ProxyHeader.Invalid.self) { try ProxyHeader(block) }
    }

    @Test func `networks include their addresses`() throws {
        let trusted = try #require(TrustedProxies("10.0.0.0/8, 192.0.2.16/28,fd00::/9,::1"))
        func includes(_ ip: String) throws -> Bool { trusted.include(try SocketAddress(ipAddress: ip, port: 1)) }
        for ip in ["10.255.1.2", "::ffff:10.1.1.1", "192.0.2.31", "fd7f::1", "::1"] {
            #expect(try includes(ip), "\(ip)")
        }
        for ip in ["11.0.0.1", "192.0.2.32", "fd80::1", "::2", "127.0.0.1"] { #expect(try !includes(ip), "\(ip)") }
        #expect(!TrustedProxies().include(try SocketAddress(ipAddress: "127.0.0.1", port: 1)))
        for text in ["10.0.0.0/33", "10.0.0/8", "a", "::/129", "1.2.3.4,", "", "1.2.3.4/-1", "1.2.3.4/"] {
            #expect(TrustedProxies(text) == nil, "\(text)")
        }
    }

    // MARK: Connections

    @Test func `a trusted proxy names the client, or stays silent`() async throws {
        try await TestService.run(settings: Self.trust, accessLog: true) { service in
            for start in ["PROXY TCP4 192.0.2.9 192.0.2.1 4660 80\r\n", "PROXY UNKNOWN\r\n", ""] {
                let wire = try await Wire(service.port)
                try await wire.send(start + Self.request)
                #expect(try await wire.rest().hasPrefix("HTTP/1.1 401 "), "\(start)")
            }
            // The header and the request byte by byte.
            let wire = try await Wire(service.port)
            for byte in "PROXY TCP6 2001:db8::9 ::1 1 2\r\n" + Self.request {
                try await wire.send(String(byte))
            }
            #expect(try await wire.rest().hasPrefix("HTTP/1.1 401 "))
            let expected = ["192.0.2.9", "127.0.0.1", "127.0.0.1", "2001:db8::9"]
            try await eventually(describe: "the lines of the access log") { try addresses(service).count == 4 }
            #expect(try addresses(service) == expected)
            // An invalid header ends the connection without an answer.
            let invalid = try await Wire(service.port)
            try await invalid.send("PROXY TCP4 nobody\r\n" + Self.request)
            #expect(try await invalid.rest() == "")
        }
    }

    @Test func `others can't choose their address`() async throws {
        try await TestService.run(settings: ["--proxy-protocol-from", "10.0.0.0/8"], accessLog: true) { service in
            let wire = try await Wire(service.port)
            try await wire.send("PROXY TCP4 192.0.2.9 192.0.2.1 4660 80\r\n" + Self.request)
            #expect(try await wire.rest().hasPrefix("HTTP/1.1 400 "))
            #expect(try !addresses(service).contains("192.0.2.9"))
        }
    }

    @Test func `a proxy that sends nothing is cut after the timeout of requests`() async throws {
        try await TestService.run(settings: Self.trust + ["--request-timeout", "1"]) { service in
            for start in ["", "PROXY TCP4 192.0.2.9"] {
                let wire = try await Wire(service.port)
                if !start.isEmpty { try await wire.send(start) }
                #expect(try await wire.rest() == "")
            }
        }
    }

    @Test func `the limits of connections and of failures count clients, not the proxy`() async throws {
        try await TestService.run(
            failures: 1, settings: Self.trust + ["--connections-per-address", "1"], accessLog: true
        ) { service in
            func open(_ client: String) async throws -> Wire {
                let wire = try await Wire(service.port)
                try await wire.send(
                    "PROXY TCP4 \(client) 192.0.2.1 1 2\r\nGET /v1/devices/d1 HTTP/1.1\r\nHost: x\r\n"
                        + "Authorization: Bearer wrong\r\n\r\n")
                return wire
            }
            var wires: [Wire] = []
            for number in 1...8 {
                let wire = try await open("192.0.2.\(number)")
                #expect(try await wire.next().hasPrefix("HTTP/1.1 401 "), "client \(number)")
                wires.append(wire)
            }
            let second = try await open("192.0.2.1")
            #expect(try await second.rest().hasPrefix("HTTP/1.1 429 "), "the connections of one client")
            _ = wires
        }
    }

    /// HAProxy from Debian with both versions of the header, and with the checks of the gateway.
    @Test(arguments: ["send-proxy", "send-proxy-v2"])
    func `HAProxy tells the address of its client`(_ option: String) async throws {
        try await TestService.run(settings: Self.trust, accessLog: true) { service in
            let port = try freePort()
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).cfg")
            defer { try? FileManager.default.removeItem(at: file) }
            let text = """
                defaults
                    mode tcp
                    timeout connect 5s
                    timeout client 60s
                    timeout server 60s
                frontend http
                    bind 127.0.0.1:\(port)
                    default_backend service
                backend service
                    option httpchk GET /readyz
                    default-server inter 1s fall 2 rise 1
                    server one 127.0.0.1:\(service.port) check \(option)

                """
            try text.write(to: file, atomically: true, encoding: .utf8)
            let proxy = try ChildProcess.start("/usr/sbin/haproxy", ["-db", "-f", file.path])
            let answered = Signal<String>()
            try await eventually(describe: "the proxy forwards") {
                guard let wire = try? await Wire(port, from: "127.0.0.3") else { return false }
                try await wire.send(Self.request)
                guard let text = try? await wire.rest(), !text.isEmpty else { return false }
                return answered.fire(text)
            }
            #expect(try await answered.value().hasPrefix("HTTP/1.1 401 "))
            #expect(try addresses(service).contains("127.0.0.3"))
            // The proxy's own checks arrive as its own.
            try await eventually(describe: "a check") { try addresses(service).contains("127.0.0.1") }
            proxy.signal(SIGTERM)
            _ = try await proxy.exit()
        }
    }
}

extension ProxyHeader {
    fileprivate init(_ length: Int) throws { self = try #require(try ProxyHeader(Self.unknown(length))) }

    /// A header of version 2 without a client.
    private static func unknown(_ length: Int) -> [UInt8] {
        [13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10, 0x20, 0, 0, UInt8(length - 16)]
            + Array(repeating: 0, count: length - 16)
    }
}
