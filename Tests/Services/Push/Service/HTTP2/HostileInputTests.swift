import Foundation
import NIOCore
import NIOHPACK
import NIOHTTP2
import Records
import TestSupport
import Testing
import Timeline

@testable import PushService

/// Hostile input: the connection is closed or the request is refused, and the service continues.
@Suite(.tags(.database, .processes), .timeLimit(.minutes(10))) struct HostileInputTests {
    typealias Raw = RawConnection

    /// Inputs that end a connection.
    private static let endings: [(name: String, bytes: [UInt8])] = [
        ("half a preface", Array("PRI * HT".utf8)),
        ("nothing after the preface", Raw.preface),
        ("headers without continuation", Raw.preface + Raw.frame(1, stream: 1, [0x82])),
        (
            "a second stream before a credential",
            Raw.preface + Raw.frame(4, flags: 1) + Raw.frame(1, flags: 4, stream: 1, [0x83, 0x84, 0x87])
                + Raw.frame(1, flags: 4, stream: 3, [0x83, 0x84, 0x87])
        ),
        ("an invalid preface", Array("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n".utf8)),
        ("random bytes after the preface", Raw.preface + (0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ 13) }),
        ("a frame above the agreed size", Raw.preface + Raw.frame(0, stream: 1, length: 1 << 24 - 1)),
        ("headers on stream 0", Raw.preface + Raw.frame(1, flags: 5, [0x82])),
        ("data on an idle stream", Raw.preface + Raw.frame(0, flags: 1, stream: 1, [1])),
        ("settings of a wrong size", Raw.preface + Raw.frame(4, [1, 2, 3])),
        ("a ping of a wrong size", Raw.preface + Raw.frame(6, [1])),
        ("a window that overflows", Raw.preface + Raw.frame(8, [0x7F, 255, 255, 255])),
        ("a window that does not grow", Raw.preface + Raw.frame(8, [0, 0, 0, 0])),
        ("an unknown header index", Raw.preface + Raw.frame(1, flags: 5, stream: 1, [0xFF, 0x80, 0x10])),
        (
            "headers that continue on another stream",
            Raw.preface + Raw.frame(1, stream: 1, [0x82]) + Raw.frame(9, stream: 3, [0x84])
        ),
        ("a push by the client", Raw.preface + Raw.frame(5, flags: 4, stream: 1, [0, 0, 0, 2, 0x82])),
        ("an even stream", Raw.preface + Raw.frame(1, flags: 5, stream: 2, [0x82, 0x84, 0x87])),
        ("headers without an end", Raw.preface + Raw.frame(1, stream: 1, [0x82]) + endless),
        (
            "pings without an end",
            Raw.preface + Array(repeatElement(Raw.frame(6, Array(repeating: 7, count: 8)), count: 500).joined())
        ),
        (
            "settings without an end",
            Raw.preface + Array(repeatElement(Raw.frame(4, [0, 4, 0, 0, 255, 255]), count: 500).joined())
        ),
        ("headers of 100 KB", Raw.preface + headers(of: 100_000)),
        ("a bomb of compressed headers", Raw.preface + bomb),
        ("resets in rapid succession", Raw.preface + rapidReset),
    ]

    private static let endless = Array(repeatElement(Raw.frame(9, stream: 1, [0x84]), count: 200).joined())

    /// Returns one large literal header, in frames of 16 KB.
    private static func headers(of size: Int) -> [UInt8] {
        // A literal without indexing, name "a", length as a number with a prefix of 7 bits (RFC 7541 section 5.1).
        var block: [UInt8] = [0x82, 0x84, 0x87, 0x00, 0x01, 0x61, 0x7F]
        var rest = size - 127
        while rest >= 128 {
            block.append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        block.append(UInt8(rest))
        block += Array(repeating: 0x62, count: size)
        let parts = stride(from: 0, to: block.count, by: 16_384).map {
            Array(block[$0..<min($0 + 16_384, block.count)])
        }
        return Array(
            parts.enumerated().map { index, part in
                Raw.frame(index == 0 ? 1 : 9, flags: index == parts.count - 1 ? 5 : 0, stream: 1, part)
            }.joined())
    }

    /// A header of 4,000 bytes in the table, referenced 10,000 times by one byte: 40 MB out of 14 KB.
    private static var bomb: [UInt8] {
        let value = Array(repeating: UInt8(0x62), count: 4000)
        let first: [UInt8] = [0x82, 0x84, 0x87, 0x40, 0x01, 0x61, 0x7F, 0xA1, 0x1E] + value
        return Raw.frame(1, flags: 5, stream: 1, first + Array(repeating: 0xBE, count: 10_000))
    }

    private static var rapidReset: [UInt8] {
        Array(
            (0..<2000).map { index in
                let stream = UInt32(index * 2 + 1)
                return Raw.frame(1, flags: 4, stream: stream, [0x83, 0x84, 0x87])
                    + Raw.frame(3, stream: stream, [0, 0, 0, 8])
            }.joined())
    }

    @Test func `invalid HTTP2 connections are closed and the service continues`() async throws {
        try await PushSuite.run(["REQUEST_TIMEOUT": "2"]) { suite in
            let token = try await suite.makeDevice("phone")
            let before = try suite.residentBytes()
            // Several of each at once, so that leaks add up.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for ending in Self.endings {
                    for _ in 0..<5 {
                        group.addTask {
                            let connection = try await Raw.connect(port: suite.push)
                            await connection.send(ending.bytes)
                            do { try await connection.closed() } catch {
                                throw HostileFailure("\(ending.name): \(error)")
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await suite.notify(token, ["aps": ["alert": "still here"]]).status == 200)
            #expect(try suite.residentBytes() - before < 64 << 20)
        }
    }

    /// The number of random requests; `DORMOUSE_RANDOM_REQUESTS=1000000` sends a million.
    private static var count: Int {
        ProcessInfo.processInfo.environment["DORMOUSE_RANDOM_REQUESTS"].flatMap { Int($0) } ?? 2500
    }

    @Test func `random requests get only documented reasons`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("phone")
            let bearer = try await suite.signer.token(issuedAt: RealClock().now)
            var random = RandomRequests(token: token, bearer: bearer, seed: 20_251_122)
            let reasons = Set(APNsReason.allCases.map(\.rawValue))
            var (client, stream) = (try await suite.trusted(token, bearer), 3)
            var before = 0
            var seen: [String: Int] = [:]
            for round in 0..<(Self.count / 100) {
                // After a warm-up, memory must not grow with the requests.
                if round == 20 { before = try suite.residentBytes() }
                let first = stream
                for _ in 0..<100 {
                    try await client.send(random.next(), on: stream)
                    stream += 2
                }
                let answers = try await client.answers(from: first, count: 100)
                for answer in answers {
                    let reason =
                        answer.status == "200" ? "200" : (try? JSON(parsing: answer.body))?["reason"]?.string ?? "?"
                    seen[reason, default: 0] += 1
                    let isFine = answer.status == "200" || answer.status.first == "4" && reasons.contains(reason)
                    #expect(
                        isFine && ["apns-id", "apns-request-id"].contains { answer.headers.first(name: $0) != nil },
                        "\(answer.status) \(answer.text)")
                }
                if stream > 1_000_000 {
                    await client.close()
                    (client, stream) = (try await suite.trusted(token, bearer), 3)
                }
            }
            await client.close()
            // The requests were diverse.
            #expect(seen.count >= 15, "\(seen)")
            #expect(seen["InternalServerError"] == nil && seen["?"] == nil)
            #expect(try suite.residentBytes() - before < 96 << 20)
        }
    }
}

struct HostileFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension HTTP2Client {
    func send(_ request: RandomRequests.Request, on stream: Int) async throws {
        try await send(stream, .headers(.init(headers: request.headers, endStream: request.body.isEmpty)))
        guard !request.body.isEmpty else { return }
        try await send(stream, .data(.init(data: .byteBuffer(ByteBuffer(bytes: request.body)), endStream: true)))
    }
}

extension PushSuite {
    /// Opens a connection with a valid token, and so with many streams.
    func trusted(_ token: String, _ bearer: String) async throws -> HTTP2Client {
        let client = try await HTTP2Client.connect(port: apns, authority: authority)
        let sent = try await client.exchange(
            1, "POST", "/3/device/\(token)",
            [("authorization", "bearer \(bearer)"), ("apns-topic", "com.example.app")],
            body: Array(#"{"aps":{"alert":"hi"}}"#.utf8))
        #expect(sent.status == "200" || sent.status == "429")
        return client
    }

    /// Returns the resident memory of `push` in bytes.
    func residentBytes() throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(pushProcess)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(Int(line.split(separator: " ").dropFirst().first ?? "")) * 1024
    }
}
