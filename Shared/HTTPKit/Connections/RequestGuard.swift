import DequeModule
import HTTPTypes
import NIOCore
import NIOHTTP1
import Records

/// Answers requests on the connection that never reach the router: faulty or long heads, and missing bodies. It also
/// closes the connection if the client or its version of HTTP requires that.
///
/// It sits below the web framework, which reports neither the version of a request nor the faults of a head.
final class RequestGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// The longest target of a request, in bytes.
    static let longestTarget = 8 * 1024
    /// The longest field of a head, and the longest first line, in bytes.
    static let longestField = 16 * 1024
    /// The paths that a connection beyond the address's limit may request, so that probes reach a full service.
    static let probes: Set<String> = ["/healthz", "/readyz", "/metrics"]
    /// The time for which a closed connection still reads, so that its client sees the answer.
    private static let linger = TimeAmount.seconds(2)

    private struct Pending {
        let version: HTTPVersion
        let isLast: Bool
    }

    private let isReserve: Bool
    /// The unanswered requests, in order.
    private var waiting: Deque<Pending> = []
    private var isReading = false
    private var isAnswering = false
    /// Whether the connection reads nothing more.
    private var isOver = false
    /// Sent once the earlier requests are answered.
    private var refusal: Problem?
    private var end: Scheduled<Void>?
    private var context: ChannelHandlerContext?

    /// The length of the current head's first line so far.
    private var line = (length: 0, isComplete: false)
    /// Whether the newest bytes end with the end of a head.
    private var endsWithHead = false

    /// - Parameter isReserve: whether the connection is one beyond the limit of its address.
    init(isReserve: Bool = false) { self.isReserve = isReserve }

    /// The version of the oldest unanswered request.
    var version: HTTPVersion? { waiting.first?.version }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        end?.cancel()
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        end?.cancel()
        context.fireChannelInactive()
    }

    // MARK: Incoming

    /// Counts the bytes of a head's first line.
    func look(at bytes: ByteBuffer) {
        let view = bytes.readableBytesView
        endsWithHead = view.suffix(4).elementsEqual("\r\n\r\n".utf8)
        guard !isReading, !line.isComplete else { return }
        let end = view.firstIndex(of: UInt8(ascii: "\n"))
        line = (line.length + view.distance(from: view.startIndex, to: end ?? view.endIndex), end != nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver, refusal == nil else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            if let problem = fault(of: head) { return refuse(problem) }
            isReading = true
            waiting.append(Pending(version: head.version, isLast: isReserve || !head.isKeepAlive))
        case .body: break
        case .end:
            isReading = false
            // The same bytes may contain the start of the next head. Its first line is then not measured.
            line = (0, !endsWithHead)
        }
        context.fireChannelRead(data)
    }

    private func fault(of head: HTTPRequestHead) -> Problem? {
        if head.uri.utf8.count > Self.longestTarget { return .targetTooLong }
        let hosts = head.headers["host"].count
        if hosts > 1 || hosts == 0 && head.version != .http1_0 {
            return .invalidHeader.with(
                detail: "Host must be sent once (RFC 9112 section 3.2); it was sent \(hosts) times")
        }
        guard isReserve, !Self.probes.contains(String(head.uri.prefix { $0 != "?" })) else { return nil }
        return .tooManyConnections
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The route that reads a body gets the error of the body.
        guard let error = error as? HTTPParserError, !isReading else { return context.fireErrorCaught(error) }
        switch error {
        case .headerOverflow: refuse(line.length > Self.longestField ? .targetTooLong : .headTooLarge)
        case .invalidVersion: refuse(.unknownVersion)
        default: refuse(.malformedRequest)
        }
    }

    // MARK: Outgoing

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isOver else { return promise?.fail(ChannelError.ioOnClosedChannel) ?? () }
        switch unwrapOutboundIn(data) {
        case .head(var head):
            isAnswering = true
            let endsConnection = head.headers[canonicalForm: "connection"].contains("close")
            guard let request = waiting.first, request.isLast || endsConnection || request.version == .http1_0 else {
                break
            }
            let isLast = request.isLast || endsConnection || !head.hasKnownLength
            // An HTTP/1.0 client does not know chunks, and keeps a connection only if the answer says so.
            if request.version == .http1_0 { head.version = .http1_0 }
            if isLast != request.isLast { waiting[0] = Pending(version: request.version, isLast: isLast) }
            head.headers.replaceOrAdd(name: "Connection", value: isLast ? "close" : "keep-alive")
            return context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body: break
        case .end:
            isAnswering = false
            context.write(data, promise: promise)
            let request = waiting.popFirst()
            if request?.isLast == true { return finish(context) }
            if waiting.isEmpty, let refusal { answer(refusal, context) }
            return
        }
        context.write(data, promise: promise)
    }

    /// Reads nothing more, and answers with a problem after the requests in progress.
    private func refuse(_ problem: Problem) {
        guard let context, !isOver, refusal == nil else { return }
        refusal = problem
        if waiting.isEmpty { answer(problem, context) }
    }

    /// Ends a request whose body does not arrive: with 408 if the answer has not begun.
    func cut() {
        guard let context, !isOver else { return }
        guard waiting.count == 1, isReading, !isAnswering else { return context.close(promise: nil) }
        answer(.requestTimeout, context)
    }

    private func answer(_ problem: Problem, _ context: ChannelHandlerContext) {
        let body = problem.json.bytes
        var headers = HTTPHeaders(problem.headers.map { ($0.name.rawName, $0.value) })
        headers.add(name: "Content-Type", value: "application/problem+json")
        headers.add(name: "Content-Length", value: String(body.count))
        headers.add(name: "X-Content-Type-Options", value: "nosniff")
        headers.add(name: "Connection", value: "close")
        if let seconds = problem.retryAfter { headers.add(name: "Retry-After", value: String(seconds)) }
        let status = HTTPResponseStatus(statusCode: problem.status.code, reasonPhrase: problem.status.reasonPhrase)
        let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
        context.write(wrapOutboundOut(.end(nil)), promise: nil)
        finish(context)
    }

    /// Closes the output now, and the whole connection a little later. A close while the client still sends would reset
    /// the connection, and the client might not see the answer.
    private func finish(_ context: ChannelHandlerContext) {
        isOver = true
        context.flush()
        let channel = context.channel
        let closed = context.eventLoop.makePromise(of: Void.self)
        closed.futureResult.whenFailure { _ in channel.close(promise: nil) }
        context.close(mode: .output, promise: closed)
        end = context.eventLoop.scheduleTask(in: Self.linger) { channel.close(promise: nil) }
    }
}

extension HTTPResponseHead {
    /// Whether a client can find the end of the answer without the end of the connection.
    fileprivate var hasKnownLength: Bool {
        headers.contains(name: "Content-Length") || status == .noContent || status == .notModified
    }
}

/// Measures the bytes of heads before the decoder reads them.
final class HeadMeter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let requests: RequestGuard

    init(_ requests: RequestGuard) { self.requests = requests }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        requests.look(at: unwrapInboundIn(data))
        context.fireChannelRead(data)
    }
}

extension Problem {
    static let targetTooLong = Problem(
        .uriTooLong, "target_too_long", "Request target is too long",
        detail: "A target has at most \(RequestGuard.longestTarget) bytes.")
    static let headTooLarge = Problem(
        .requestHeaderFieldsTooLarge, "head_too_large", "Request head is too large",
        detail: "A head has at most 100 fields of 16 KiB each and 32 KiB together.")
    static let malformedRequest = Problem(.badRequest, "malformed_request", "Request is not HTTP/1.1")
    static let unknownVersion = Problem(
        .httpVersionNotSupported, "unknown_version", "HTTP version is not supported",
        detail: "This port accepts HTTP/1.1 and HTTP/1.0.")
    static let tooManyConnections = Problem(
        .tooManyRequests, "too_many_connections", "Address has too many connections",
        detail: "Close connections, or reuse them. CONNECTIONS_PER_ADDRESS sets the limit.", retryAfter: 1)
}
