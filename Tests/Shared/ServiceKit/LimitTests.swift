import Hummingbird
import NIOCore
import NIOPosix
import Records
import TestSupport
import Testing
import Timeline

@testable import HTTPKit
@testable import Identity
@testable import ServiceKit

@Suite("Limits", .tags(.processes), .timeLimit(.minutes(5))) struct LimitTests {
    // MARK: Slow clients

    @Test func `an unfinished request is cut after its timeout`() async throws {
        try await TestService.run(
            settings: ["--request-timeout", "3"],
            routes: { table in
                table.add(.put, "/v1/content", "Takes content") { call in
                    Response(json: Array(buffer: try await call.request.body.collect(upTo: 100)))
                }
            }
        ) { service in
            let key = TestService.operatorKey
            let halves = [
                "", "GET /healthz HTTP/1.1\r\nHost: x\r\n",
                "POST /v1/naps HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(key)\r\n"
                    + "Content-Type: application/json\r\nContent-Length: 30\r\n\r\n{\"name\"",
            ]
            // Content that is not JSON has more time.
            let content = try await Wire(service.port)
            try await content.send(
                "PUT /v1/content HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(key)\r\nConnection: close\r\n"
                    + "Content-Type: text/plain\r\nContent-Length: 5\r\n\r\nab")
            try await withThrowingTaskGroup(of: String.self) { group in
                for half in halves {
                    group.addTask {
                        let wire = try await Wire(service.port)
                        try await wire.send(half)
                        return try await wire.rest()
                    }
                }
                // With a complete head, the client gets an answer.
                var told = 0
                for try await answer in group where answer != "" {
                    told += 1
                    #expect(answer.hasPrefix("HTTP/1.1 408 ") && answer.contains("request_timeout"))
                }
                #expect(told == 1)
            }
            try await content.send("cde")
            let answer = try await content.rest()
            #expect(answer.hasPrefix("HTTP/1.1 200 OK") && answer.hasSuffix("abcde"))
        }
    }

    @Test func `a connection without requests is closed`() async throws {
        try await TestService.run(settings: ["--idle-timeout", "3"]) { service in
            let wire = try await Wire(service.port)
            try await wire.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            let text = try await wire.rest()
            #expect(text.hasPrefix("HTTP/1.1 200 OK") && !text.contains("HTTP/1.1 4"))
        }
    }

    @Test func `a slow next request on a connection is cut`() async throws {
        try await TestService.run(settings: ["--idle-timeout", "3"]) { service in
            let wire = try await Wire(service.port)
            try await wire.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\n")
            #expect(try await wire.rest().components("HTTP/1.1 200 OK") == 1)
        }
    }

    @Test func `a client that does not read its answer is cut`() async throws {
        let cut = Gate()
        try await TestService.run(
            settings: ["--idle-timeout", "1"],
            routes: { table in
                table.add(.get, "/v1/endless", "Has no end", .open) { _ in
                    Response(
                        status: .ok,
                        body: ResponseBody { writer in
                            defer { cut.open() }
                            let part = ByteBuffer(repeating: 0, count: 1 << 16)
                            while true { try await writer.write(part) }
                        })
                }
            }
        ) { service in
            let wire = try await Wire(service.port, reads: false)
            try await wire.send("GET /v1/endless HTTP/1.1\r\nHost: x\r\n\r\n")
            try await withTimeout(seconds: 60) { await cut.wait() }
        }
    }

    // MARK: Connections

    @Test func `an address beyond its connection limit gets one probe and else 429`() async throws {
        try await TestService.run(settings: ["--connections-per-address", "2"]) { service in
            let ask = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            let (first, second) = (try await Wire(service.port), try await Wire(service.port))
            // Both have an answer, so both were accepted before the third.
            for wire in [first, second] {
                try await wire.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try await wire.next().hasPrefix("HTTP/1.1 200 OK"))
            }
            // One more connection is reserved for a single probe.
            let third = try await Wire(service.port)
            try await third.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            let probe = try await third.rest()
            #expect(probe.hasPrefix("HTTP/1.1 200 OK") && probe.contains("Connection: close"))
            let other = try await Wire(service.port)
            try await other.send("GET /v1/devices/d1 HTTP/1.1\r\nHost: x\r\n\r\n")
            let refused = try await other.rest()
            #expect(refused.hasPrefix("HTTP/1.1 429 ") && refused.contains("too_many_connections"))
            try await first.send(ask)
            _ = try await first.rest()
            try await eventually(describe: "the closed connection no longer counts") {
                let fourth = try await Wire(service.port)
                try? await fourth.send("GET /v1/devices/d1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                return try await fourth.rest().hasPrefix("HTTP/1.1 401 ")
            }
        }
    }

    @Test func `memory is returned once after each peak of connections`() {
        var watch = PeakWatch()
        let passed = [100, 800, 500, 390, 390, 600, 300, 1000, 600, 499, 20].map { watch.hasPassed(open: $0, peak: $0) }
        #expect(passed == [false, false, false, false, false, false, true, false, false, true, false])
        // A peak that began and ended between two checks.
        #expect([1000, 20].map { watch.hasPassed(open: 20, peak: $0) } == [true, false])
    }

    @Test func `connections count by IPv4 address or by the first 64 bits of an IPv6 address`() throws {
        func network(_ ip: String) throws -> [UInt8]? { try SocketAddress(ipAddress: ip, port: 9).network }
        #expect(try network("192.0.2.7") == [192, 0, 2, 7])
        #expect(try network("::ffff:192.0.2.7") == [192, 0, 2, 7])
        #expect(try network("2001:db8::1") == network("2001:db8::ffff:1:2"))
        #expect(try network("2001:db8::1") != network("2001:db8:0:1::1"))
        let limit = AddressLimit(2)
        #expect(limit.enter([1]) == .full && limit.enter([1]) == .full)
        for _ in 0..<AddressLimit.reserve { #expect(limit.enter([1]) == .reserve) }
        #expect(limit.enter([1]) == .refused && limit.enter([2]) == .full)
        limit.leave([1])
        #expect(limit.enter([1]) == .reserve && limit.enter([1]) == .refused)
    }

    // MARK: Sizes

    @Test func `documents have a limited depth and length`() async throws {
        try await TestService.run { service in
            func send(_ name: String) async throws -> Answer {
                try await service.send("POST", "/v1/naps", #"{"minutes":3,"name":\#(name)}"#)
            }
            let deep = String(repeating: "[", count: 33) + String(repeating: "]", count: 33)
            let tooDeep = try await send(deep)
            #expect(tooDeep.status == 400 && tooDeep.code == "malformed_json")
            let long = "[" + String(repeating: "0,", count: 1024) + "0]"
            let tooLong = try await send(#"{"a/b":[\#(long)]}"#)
            #expect(tooLong.status == 422 && tooLong.code == "invalid_document")
            #expect(tooLong.json["errors"]?[0]?["pointer"] == "/name/a~1b/0")
            #expect(tooLong.json["errors"]?[0]?["detail"] == "has more than 1024 items")
            // An array at the limit is refused only for its type.
            let justRight = try await send("[" + String(repeating: "0,", count: 1023) + "0]")
            #expect(justRight.json["errors"]?[0]?["detail"] != "has more than 1024 items")
        }
    }

    // MARK: Rates

    @Test func `a device beyond its request rate gets 429 with Retry-After`() async throws {
        let rates = RequestRates(.init(device: 1))
        // The bucket is emptied an hour ahead, so that a slow machine does not fill it again.
        for _ in 0..<4 { try rates.admit(.device("d1", fleet: "f1"), at: .now + .seconds(3600)) }
        try await TestService.run(rates: rates) { service in
            func token(_ device: String) async throws -> String {
                try await service.tokens.issue(device: device, fleet: "f1", id: "t", lifetime: .hours(1))
            }
            for _ in 0..<2 {
                // All tokens of a device share one bucket.
                let answer = try await service.send("GET", "/v1/devices/d1", key: try await token("d1"))
                #expect(answer.status == 429 && answer.code == "rate_limited")
                let wait = try #require(answer.headers["retry-after"].flatMap { Int($0) })
                #expect((1...3601).contains(wait))
            }
            #expect(try await service.send("GET", "/v1/devices/d1", key: try await token("d2")).status == 404)
            for _ in 0..<10 { #expect(try await service.send("GET", "/v1/devices/d1").status == 200) }
        }
    }

    @Test func `a bucket holds four seconds of tokens and refills at its rate`() throws {
        let rates = RequestRates(.init(device: 10, operator: 1))
        let device = Caller.device("d", fleet: "f")
        let start = ContinuousClock.now
        for _ in 0..<40 { try rates.admit(device, at: start) }
        do {
            try rates.admit(device, at: start)
            Issue.record("the bucket has no limit")
        } catch { #expect(error.retryAfter == 1) }
        // A tenth of a second adds exactly one token.
        try rates.admit(device, at: start + .milliseconds(100))
        #expect(throws: Problem.self) { try rates.admit(device, at: start + .milliseconds(100)) }
        // A full bucket gets no more tokens.
        for _ in 0..<40 { try rates.admit(device, at: start + .seconds(3600)) }
        #expect(throws: Problem.self) { try rates.admit(device, at: start + .seconds(3600)) }
        for _ in 0..<1000 { try rates.admit(.fleet("f"), at: start) }
        let alice = Caller.operator(name: "alice", scopes: [.read])
        for _ in 0..<4 { try rates.admit(alice, at: start) }
        #expect(throws: Problem.self) { try rates.admit(alice, at: start) }
    }

    @Test func `idle callers are removed from the buckets`() throws {
        let rates = RequestRates(.init(device: 1))
        let start = ContinuousClock.now
        for index in 0..<RequestRates.remembered { try rates.admit(.device("\(index)", fleet: ""), at: start) }
        #expect(rates.count == RequestRates.remembered)
        try rates.admit(.device("late", fleet: ""), at: start + .seconds(1))
        #expect(rates.count == 1)
    }

    @Test func `the default limits are as documented`() throws {
        let configuration = try ServiceConfiguration.reading()
        #expect(configuration.requestRates.device == 50)
        #expect(configuration.requestRates.fleet == 0 && configuration.requestRates.operator == 0)
        #expect(configuration.connectionsPerAddress == 10_000)
        let other = try ServiceConfiguration.reading("--operator-requests-per-second", "7")
        #expect(other.requestRates.operator == 7)
        #expect(configuration.requestTimeout == 10 && configuration.idleTimeout == 60)
    }
}

/// A TCP connection for raw bytes.
actor Wire {
    private let channel: any Channel
    private var parts: AsyncStream<String>.AsyncIterator

    init(_ port: Int, reads: Bool = true, from own: String? = nil) async throws {
        let (stream, source) = AsyncStream<String>.makeStream()
        var bootstrap = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelOption(.autoRead, value: reads)
            .channelInitializer { $0.pipeline.addHandler(Collector(source)) }
        if let own { bootstrap = bootstrap.bind(to: try SocketAddress(ipAddress: own, port: 0)) }
        channel = try await bootstrap.connect(host: "127.0.0.1", port: port).get()
        parts = stream.makeAsyncIterator()
    }

    func send(_ text: String) async throws {
        try await channel.writeAndFlush(ByteBuffer(string: text)).get()
    }

    /// Returns the next part; empty at the end.
    func next() async throws -> String {
        var iterator = parts
        defer { parts = iterator }
        return await iterator.next(isolation: self) ?? ""
    }

    func close() async throws { try await channel.close().get() }

    /// Returns everything until the server closes.
    func rest() async throws -> String {
        var text = ""
        while case let part = try await next(), !part.isEmpty { text += part }
        return text
    }

    private final class Collector: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        private let source: AsyncStream<String>.Continuation

        init(_ source: AsyncStream<String>.Continuation) { self.source = source }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            source.yield(String(buffer: unwrapInboundIn(data)))
        }
        func channelInactive(context: ChannelHandlerContext) { source.finish() }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

extension String {
    fileprivate func components(_ part: String) -> Int { ranges(of: part).count }
}
