import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import Records
import TestSupport

/// A whole answer.
struct Answer: DescribedAnswer {
    let status: Int
    let headers: HTTPHeaders
    let body: ByteBuffer

    var contentType: String? { headers.first(name: "content-type") }
    var json: JSON { (try? JSON(parsing: body.readableBytesView)) ?? .null }
    var isEmpty: Bool { body.readableBytes == 0 }
    var isSuccess: Bool { (200..<300).contains(status) }
    /// The log position in `Dormouse-Position`.
    var position: (partition: Int, offset: Int)? {
        let parts = headers.first(name: "Dormouse-Position")?.split(separator: ":").compactMap { Int($0) } ?? []
        return parts.count == 2 ? (parts[0], parts[1]) : nil
    }
    /// The first bytes, for a report.
    var excerpt: String { String(decoding: body.readableBytesView.prefix(300), as: UTF8.self) }
}

/// One request.
struct Call: Sendable {
    var method: HTTPMethod
    var path: String
    var body: [UInt8]?
    var headers: [(String, String)] = []

    init(_ method: HTTPMethod, _ path: String, body: [UInt8]? = nil, headers: [(String, String)] = []) {
        (self.method, self.path, self.body, self.headers) = (method, path, body, headers)
    }

    init(_ method: HTTPMethod, _ path: String, _ document: JSON?) {
        self.init(
            method, path, body: document?.bytes,
            headers: document == nil ? [] : [("content-type", "application/json")])
    }
}

/// Sends requests as an operator, without retries.
final class AttackClient: Sendable {
    /// The limits of a client whose services stop and end. A stream without heartbeats for 25 s is lost.
    private static let shortTimeouts = HTTPClient.Configuration.Timeout(connect: .seconds(3), read: .seconds(25))

    private let http: HTTPClient
    private let operatorKey: String

    /// - Parameters:
    ///   - authority: a PEM file with the authority of the provider endpoint's certificate.
    ///   - timeouts: of connections, besides the time limit of each request.
    init(
        authority: String? = nil, operatorKey: String = AttackedSuite.operatorKey,
        timeouts: HTTPClient.Configuration.Timeout? = nil
    ) {
        self.operatorKey = operatorKey
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.connectionPool.idleTimeout = .seconds(20)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
        configuration.timeout = timeouts ?? Self.shortTimeouts
        configuration.redirectConfiguration = .disallow
        if let authority {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(authority)
            configuration.tlsConfiguration = tls
        }
        http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// Closes the connections that ``shutdown()`` has not closed, for example after the error of a test.
    deinit { http.shutdown { _ in } }

    func shutdown() async throws { try await http.shutdown() }

    /// Sends a request once.
    ///
    /// - Parameter readsStreams: whether to read an answer that is a stream of events; otherwise only its head.
    /// - Throws: an error if there is no answer within `seconds`.
    func send(_ call: Call, to address: String, within seconds: Int64 = 5, authorized: Bool = true) async throws
        -> Answer
    {
        var request = HTTPClientRequest(url: address + call.path)
        request.method = call.method
        if authorized { request.headers.add(name: "authorization", value: "Bearer \(operatorKey)") }
        for (name, value) in call.headers { request.headers.add(name: name, value: value) }
        request.body = call.body.map { .bytes(ByteBuffer(bytes: $0)) }
        return address.hasPrefix("https:")
            ? try await exchangeToEnd(request, within: seconds) : try await exchange(request, within: seconds)
    }

    private func exchange(_ request: HTTPClientRequest, within seconds: Int64) async throws -> Answer {
        let response = try await http.execute(request, timeout: .seconds(seconds))
        let isStream = response.headers.first(name: "content-type")?.hasPrefix("text/event-stream") ?? false
        let body = isStream ? ByteBuffer() : try await response.body.collect(upTo: 1 << 24)
        return Answer(status: Int(response.status.code), headers: response.headers, body: body)
    }

    /// Sends a request that goes on after its time, without its caller. A debug build of AsyncHTTPClient traps if an HTTP/2
    /// connection without requests gets new settings, and `push` sends them with its first answer.
    private func exchangeToEnd(_ request: HTTPClientRequest, within seconds: Int64) async throws -> Answer {
        let (answers, continuation) = AsyncThrowingStream<Answer, any Error>.makeStream()
        Task {
            do {
                continuation.yield(try await exchange(request, within: max(seconds, 60)))
                continuation.finish()
            } catch { continuation.finish(throwing: error) }
        }
        let limit = Task {
            try await Task.sleep(for: .seconds(seconds))
            continuation.finish(throwing: HTTPClientError.deadlineExceeded)
        }
        defer { limit.cancel() }
        for try await answer in answers { return answer }
        throw CancellationError()
    }

    /// Reads a stream.
    ///
    /// - Parameters:
    ///   - seconds: the longest silence.
    ///   - take: receives each part, and returns whether to read another.
    /// - Throws: the error that ended the stream.
    func stream(
        _ call: Call, from address: String, within seconds: Int64, _ take: (ByteBuffer) -> Bool
    ) async throws {
        var request = HTTPClientRequest(url: address + call.path)
        request.headers.add(name: "authorization", value: "Bearer \(operatorKey)")
        for (name, value) in call.headers { request.headers.add(name: name, value: value) }
        let response = try await http.execute(request, timeout: .seconds(seconds))
        guard response.status == .ok else { throw AttackFailed("\(response.status)") }
        for try await part in response.body where !take(part) { return }
    }

    /// Repeats a request that must succeed, with the same key.
    ///
    /// - Parameters:
    ///   - seconds: the longest duration of one attempt.
    ///   - patience: the time after which it gives up.
    @discardableResult
    func require(
        _ call: Call, to address: String, within seconds: Int64 = 10, patience: Duration = .seconds(60)
    ) async throws -> Answer {
        var call = call
        if call.method != .GET { call.headers.append(("Idempotency-Key", UUID().uuidString)) }
        let deadline = ContinuousClock.now + patience
        var last = "no answer"
        while ContinuousClock.now < deadline {
            do {
                let answer = try await send(call, to: address, within: seconds)
                if answer.isSuccess { return answer }
                last = "\(answer.status) \(answer.excerpt)"
                guard [429, 503, 504].contains(answer.status) else { break }
            } catch { last = "\(error)" }
            try await Task.sleep(for: .milliseconds(200))
        }
        throw AttackFailed("\(call.method) \(call.path): \(last)")
    }
}
