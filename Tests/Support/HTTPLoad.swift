public import NIOCore
import NIOPosix

/// Requests that a load sends one after another, for example the transitions of one app.
public struct LoadScript: Sendable {
    let requests: [ByteBuffer]
    private(set) var turn = 0

    /// - Parameter requests: whole HTTP/1.1 requests. The first follows the last.
    public init(_ requests: [String]) {
        precondition(!requests.isEmpty, "a script needs a request")
        self.requests = requests.map { ByteBuffer(string: $0) }
    }

    var next: ByteBuffer { requests[turn] }

    mutating func advance() { turn = (turn + 1) % requests.count }
}

/// The result of a load.
public struct LoadResult: Sendable {
    /// The nanoseconds from each request to its whole 2xx answer, sorted.
    public fileprivate(set) var latencies: [Int64] = []
    /// The number of failures: status codes other than 2xx, and lost connections.
    public fileprivate(set) var failures: [String: Int] = [:]
    /// The beginning of one answer of each failure.
    public fileprivate(set) var examples: [String: String] = [:]
    /// The time from the first request to the last answer.
    public fileprivate(set) var seconds = 0.0
    /// The scripts in their order, each at its next request.
    public fileprivate(set) var scripts: [LoadScript] = []

    /// The number of 2xx answers in a second.
    public var perSecond: Double { seconds > 0 ? Double(latencies.count) / seconds : .nan }
    public var failureCount: Int { failures.values.reduce(0, +) }

    /// Returns a percentile of the latencies in milliseconds.
    public func milliseconds(_ share: Double) -> Double {
        nearestRank(latencies, share).map { Double($0) / 1e6 } ?? .nan
    }
}

/// A load generator for a server on 127.0.0.1 without TLS. Each connection has one request in flight.
///
/// A connection goes through its own scripts in turn, and sends one request of each. It moves a script on only after a
/// 2xx answer. So no request overtakes an earlier one of its script.
public enum HTTPLoad {
    /// Sends requests for a time, then waits for the answers in flight.
    ///
    /// - Parameters:
    ///   - scripts: at least one for each connection.
    /// - Throws: ``TimedOut`` if an answer is still missing a minute later; an error if a connection is refused.
    public static func run(
        port: Int, connections: Int, seconds: Double, _ scripts: [LoadScript]
    ) async throws -> LoadResult {
        precondition(scripts.count >= connections, "each connection needs a script")
        let opened = try await open(port, connections, scripts)
        let begin = NIODeadline.now()
        let end = begin + .nanoseconds(Int64(seconds * 1e9))
        let parts = try await withTimeout(seconds: seconds + 60, "the answers of the load") {
            try await withTaskCancellationHandler {
                for (channel, _) in opened { channel.pipeline.fireUserInboundEventTriggered(LoadStart(end: end)) }
                var parts: [LoadConnection.Part] = []
                for (_, done) in opened { parts.append(try await done.get()) }
                return parts
            } onCancel: {
                for (channel, _) in opened { channel.close(promise: nil) }
            }
        }
        var result = LoadResult()
        result.scripts = scripts
        for (number, part) in parts.enumerated() {
            result.latencies += part.latencies
            result.failures.merge(part.failures, uniquingKeysWith: +)
            result.examples.merge(part.examples) { first, _ in first }
            result.seconds = max(result.seconds, Double((part.end - begin).nanoseconds) / 1e9)
            for (index, script) in zip(stride(from: number, to: scripts.count, by: connections), part.scripts) {
                result.scripts[index] = script
            }
        }
        result.latencies.sort()
        return result
    }

    private static func open(
        _ port: Int, _ connections: Int, _ scripts: [LoadScript]
    ) async throws -> [(any Channel, EventLoopFuture<LoadConnection.Part>)] {
        let group = MultiThreadedEventLoopGroup.singleton
        var opened: [(any Channel, EventLoopFuture<LoadConnection.Part>)] = []
        for number in 0..<connections {
            let own = stride(from: number, to: scripts.count, by: connections).map { scripts[$0] }
            let done = group.next().makePromise(of: LoadConnection.Part.self)
            do {
                let channel = try await ClientBootstrap(group: group)
                    .channelInitializer { channel in
                        channel.eventLoop.makeCompletedFuture {
                            try channel.pipeline.syncOperations.addHandler(LoadConnection(own, done))
                        }
                    }
                    .connect(host: "127.0.0.1", port: port).get()
                opened.append((channel, done.futureResult))
            } catch {
                done.fail(error)
                for (channel, _) in opened { channel.close(promise: nil) }
                throw error
            }
        }
        return opened
    }
}

/// The status of an HTTP/1.1 answer, and its length in bytes with head and body.
public struct AnswerExtent: Sendable, Equatable {
    public let status: Int
    public let bytes: Int

    /// Parses the head of an answer; nil if it is incomplete. The status is 0 if the bytes are not HTTP/1.1.
    ///
    /// An answer without `Content-Length` has no body: the routes of a load send no chunks.
    public init?(_ received: ByteBuffer) {
        guard let extent = received.withUnsafeReadableBytes({ Self.parse($0) }) else { return nil }
        (status, bytes) = extent
    }

    private static func parse(_ bytes: UnsafeRawBufferPointer) -> (status: Int, bytes: Int)? {
        var line = 0
        var body = 0
        for index in bytes.indices where bytes[index] == UInt8(ascii: "\n") {
            if index - line <= 1 { return (status(bytes), index + 1 + body) }
            body = contentLength(bytes[line..<index]) ?? body
            line = index + 1
        }
        return nil
    }

    private static func status(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard bytes.count > 12, bytes.starts(with: "HTTP/1.1 ".utf8) else { return 0 }
        return number(bytes[9..<12])
    }

    private static func contentLength(_ line: Slice<UnsafeRawBufferPointer>) -> Int? {
        let name = "content-length:".utf8
        guard line.count > name.count, zip(line, name).allSatisfy({ $0 | 0x20 == $1 | 0x20 }) else { return nil }
        return number(line.dropFirst(name.count))
    }

    /// The number of the decimal digits, without other characters.
    private static func number(_ bytes: Slice<UnsafeRawBufferPointer>) -> Int {
        bytes.reduce(0) { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($1) ? $0 * 10 + Int($1 & 0x0f) : $0 }
    }
}

/// Starts a connection's requests.
private struct LoadStart: Sendable {
    /// No request begins later.
    let end: NIODeadline
}

private final class LoadConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The result of one connection.
    struct Part: Sendable {
        var scripts: [LoadScript]
        var latencies: [Int64] = []
        var failures: [String: Int] = [:]
        var examples: [String: String] = [:]
        var end = NIODeadline.now()
    }

    private var part: Part
    private var current = 0
    private var received: ByteBuffer?
    private var sent = NIODeadline.now()
    private var end: NIODeadline?
    private var done: EventLoopPromise<Part>?

    init(_ scripts: [LoadScript], _ done: EventLoopPromise<Part>) {
        part = Part(scripts: scripts)
        self.done = done
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let start = event as? LoadStart else { return context.fireUserInboundEventTriggered(event) }
        end = start.end
        send(context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if received == nil { received = bytes } else { received?.writeBuffer(&bytes) }
        guard let answer = received, let extent = AnswerExtent(answer), answer.readableBytes >= extent.bytes else {
            return
        }
        received = nil
        let now = NIODeadline.now()
        if (200..<300).contains(extent.status) {
            part.latencies.append((now - sent).nanoseconds)
            part.scripts[current].advance()
        } else {
            note("\(extent.status)", String(buffer: answer).suffix(300))
        }
        guard extent.status > 0, let end, now < end else { return finish(context, now) }
        current = (current + 1) % part.scripts.count
        send(context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        if done != nil { note("connection closed", "") }
        finish(context, .now())
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if done != nil { note("\(error)", "") }
        finish(context, .now())
    }

    private func send(_ context: ChannelHandlerContext) {
        sent = .now()
        context.writeAndFlush(wrapOutboundOut(part.scripts[current].next), promise: nil)
    }

    private func note(_ failure: String, _ example: some StringProtocol) {
        part.failures[failure, default: 0] += 1
        if part.examples[failure] == nil { part.examples[failure] = String(example) }
    }

    private func finish(_ context: ChannelHandlerContext, _ now: NIODeadline) {
        guard let done else { return }
        self.done = nil
        part.end = now
        done.succeed(part)
        context.close(promise: nil)
    }
}
