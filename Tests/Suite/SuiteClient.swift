import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport

/// A complete response.
struct Answer: Sendable {
    let status: Int
    let headers: HTTPHeaders
    let body: ByteBuffer

    var json: JSON { (try? JSON(parsing: body.readableBytesView)) ?? .null }
    /// The log position of the request, to read your writes at another service.
    var position: String? { headers.first(name: "Dormouse-Position") }
}

extension RunningSuite {
    /// A refused connection fails at once: tests kill services, and callers retry.
    static let client = HTTPClient(
        eventLoopGroupProvider: .singleton,
        configuration: {
            var configuration = HTTPClient.Configuration()
            configuration.connectionPool.retryConnectionEstablishment = false
            // Less than the idle timeout of services, so that no request uses a connection that is being closed.
            configuration.connectionPool.idleTimeout = .seconds(20)
            // As long as a request: the machine of the tests may be slow.
            configuration.timeout.connect = .seconds(60)
            return configuration
        }())

    func request(
        _ method: HTTPMethod, _ service: SuiteService, _ path: String, as key: String = operatorKey,
        _ headers: [String: String] = [:]
    ) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: address(service) + path)
        request.method = method
        if headers["authorization"] == nil { request.headers.add(name: "authorization", value: "Bearer \(key)") }
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        return request
    }

    /// Sends a request and returns any response.
    func send(
        _ method: HTTPMethod, _ service: SuiteService, _ path: String, _ document: JSON? = nil,
        as key: String = operatorKey, headers: [String: String] = [:]
    ) async throws -> Answer {
        let type = document == nil ? [:] : ["content-type": "application/json"]
        var request = request(method, service, path, as: key, type.merging(headers) { $1 })
        request.body = document.map { .bytes($0.bytes) }
        return try await send(request)
    }

    func send(_ request: HTTPClientRequest) async throws -> Answer {
        let response = try await Self.client.execute(request, timeout: .seconds(60))
        return Answer(
            status: Int(response.status.code), headers: response.headers,
            body: try await response.body.collect(upTo: 1 << 26))
    }

    /// Sends a request that must succeed. While the service is unavailable, it retries with the same idempotency key.
    ///
    /// - Parameter position: the position that the service must have read.
    @discardableResult
    func call(
        _ method: HTTPMethod, _ service: SuiteService, _ path: String, _ document: JSON? = nil,
        as key: String = operatorKey, after position: String? = nil, headers: [String: String] = [:]
    ) async throws -> Answer {
        var all = headers
        all["Dormouse-Position"] = position
        if method != .GET { all["Idempotency-Key"] = headers["Idempotency-Key"] ?? UUID().uuidString }
        let last = Signal<Answer>()
        let sent = all
        try await eventually(within: 90, describe: "\(method) \(path) of \(service) is answered") { [self] in
            guard let answer = try? await send(method, service, path, document, as: key, headers: sent),
                ![429, 503, 504].contains(answer.status)
            else { return false }
            return last.fire(answer)
        }
        let answer = try await last.value()
        guard (200..<300).contains(answer.status) else {
            throw Unexpected("\(method) \(path) of \(service): \(answer.status) \(String(buffer: answer.body))")
        }
        return answer
    }

    /// Opens a stream of server-sent events.
    func stream(
        _ service: SuiteService, _ path: String, as key: String = operatorKey, headers: [String: String] = [:]
    ) async throws -> EventReader {
        let response = try await Self.client.execute(
            request(.GET, service, path, as: key, headers), timeout: .minutes(10))
        guard response.status == .ok else { throw Unexpected("\(path) of \(service): \(response.status)") }
        let reader = EventReader(response.body)
        try await reader.waitUntilOpen("\(path) of \(service) opens")
        return reader
    }
}
