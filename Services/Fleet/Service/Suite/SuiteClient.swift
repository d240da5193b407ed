import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
public import Records
import Synchronization

/// The result of one attempt of a request.
public enum Reply: Sendable, Equatable {
    case answered(status: Int, JSON, position: Position?, etag: Int?)
    /// The connection failed or the service was busy. `after` is its `Retry-After` in seconds.
    case later(String, after: Double?)
}

/// The HTTP client of a fleet. Streams have their own limited connections, so that they do not block requests.
public final class SuiteClient: Sendable {
    public let endpoints: Endpoints
    let documentation = Documentation()
    let calls: HTTPClient
    private let streams: HTTPClient
    private let fleetToken = Mutex<String?>(nil)

    /// The timeout of a request.
    static let timeout = TimeAmount.seconds(15)
    /// The timeout of a silent stream. Heartbeats come every 15 s.
    private static let silence = TimeAmount.seconds(45)

    /// - Parameters:
    ///   - connections: the maximum connections for requests to each service.
    ///   - count: the maximum connections for streams.
    /// - Throws: ``FleetError`` if the certificates cannot be read.
    public init(_ endpoints: Endpoints, connections: Int, streams count: Int) throws(FleetError) {
        self.endpoints = endpoints
        var configuration = HTTPClient.Configuration()
        configuration.timeout.connect = .seconds(5)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections
        configuration.connectionPool.retryConnectionEstablishment = false
        if let file = endpoints.certificates {
            do {
                var tls = TLSConfiguration.makeClientConfiguration()
                tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(file))]
                configuration.tlsConfiguration = tls
            } catch { throw FleetError("cannot read the certificates in \(file)") }
        }
        calls = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        configuration.timeout.read = Self.silence
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = count
        streams = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// Closes all connections.
    public func close() async {
        // The run is over, so a failure has no effect.
        try? await calls.shutdown()
        try? await streams.shutdown()
    }

    /// The credential of requests: the fleet token, or the operator key before there is one.
    var credential: String { fleetToken.withLock { $0 } ?? endpoints.operatorKey }

    /// Uses the token of a fleet from now on.
    func enter(as token: String) { fleetToken.withLock { $0 = token } }

    /// Sends a request once.
    ///
    /// - Parameter idempotencyKey: the same for all attempts of a request.
    /// - Throws: only `CancellationError`.
    public func attempt(
        _ call: Call, idempotencyKey: String? = nil, position: Position? = nil, asOperator: Bool = false
    ) async throws(CancellationError) -> Reply {
        guard let root = endpoints.services[call.service] else {
            return .later("no address of \(call.service)", after: 60)
        }
        var headers: HTTPHeaders = ["accept": "application/json"]
        let bearer = asOperator ? endpoints.operatorKey : credential
        // Services without authentication refuse a credential that they cannot verify.
        if !bearer.isEmpty { headers.add(name: "authorization", value: "Bearer " + bearer) }
        if let idempotencyKey { headers.add(name: "idempotency-key", value: idempotencyKey) }
        if let position { headers.add(name: "dormouse-position", value: position.text) }
        if let file = call.file {
            return try await send(
                call.method, root + call.path, headers, file, type: "application/octet-stream")
        }
        let lines = call.lines.map { Array($0.map(\.bytes).joined(separator: [UInt8(ascii: "\n")])) }
        return try await send(
            call.method, root + call.path, headers, lines ?? call.body?.bytes,
            type: lines == nil ? "application/json" : Self.linesType)
    }

    /// The media type of NDJSON.
    private static let linesType = "application/x-ndjson"

    /// Returns the document of an answer; an array for lines, null if it is not JSON.
    private static func document(_ bytes: ByteBuffer, type: String?) -> JSON {
        guard type == linesType else { return (try? JSON(parsing: Array(bytes.readableBytesView))) ?? .null }
        let lines = bytes.readableBytesView.split(separator: UInt8(ascii: "\n"))
        return .array(lines.map { (try? JSON(parsing: Array($0))) ?? .null })
    }

    /// Sends an HTTP request once.
    func send(
        _ method: String, _ url: String, _ headers: HTTPHeaders, _ body: [UInt8]?, type: String
    ) async throws(CancellationError) -> Reply {
        var request = HTTPClientRequest(url: url)
        request.method = HTTPMethod(rawValue: method)
        request.headers = headers
        if let body {
            request.headers.add(name: "content-type", value: type)
            request.body = .bytes(ByteBuffer(bytes: body))
        }
        do {
            let response = try await calls.execute(request, timeout: Self.timeout)
            let bytes = try await response.body.collect(upTo: 4 << 20)
            let status = Int(response.status.code)
            if status == 503 || status == 429 || status == 504 {
                let document = try? JSON(parsing: Array(bytes.readableBytesView))
                let code = document?["code"]?.string ?? document?["reason"]?.string
                return .later(
                    "\(status) \(code ?? "")",
                    after: response.headers.first(name: "retry-after").flatMap { Double($0) })
            }
            let document = Self.document(bytes, type: response.headers.first(name: "content-type"))
            // After a restore, a tag has the incarnation of the log before its version.
            let tag = response.headers.first(name: "etag")?.split(separator: ".").last?.filter(\.isNumber)
            return .answered(
                status: status, document,
                position: response.headers.first(name: "dormouse-position").flatMap { Position($0) },
                etag: tag.flatMap { Int($0) })
        } catch {
            if Task.isCancelled { throw CancellationError() }
            return .later(String(describing: error), after: nil)
        }
    }

    /// Reads a stream of server-sent events until it ends.
    ///
    /// - Parameters:
    ///   - opened: called after the head of the response.
    ///   - take: gets each event, with the `id` to resume after.
    ///   - began: called after the first bytes, which say that the stream is in effect.
    /// - Returns: the status.
    /// - Throws: the error that broke the stream.
    func stream(
        _ service: ServiceName, _ path: String, after id: String?, opened: () async -> Void,
        _ take: (StreamEvent) async -> Void, began: () async -> Void = {}
    ) async throws -> Int {
        var request = HTTPClientRequest(url: (endpoints.services[service] ?? "") + path)
        request.headers = ["accept": "text/event-stream"]
        if !credential.isEmpty { request.headers.add(name: "authorization", value: "Bearer " + credential) }
        if let id { request.headers.add(name: "last-event-id", value: id) }
        let response = try await streams.execute(request, deadline: .distantFuture)
        guard response.status == .ok else { return Int(response.status.code) }
        await opened()
        var parser = ServerSentEventParser(lastEventID: id)
        var hasBegun = false
        for try await bytes in response.body {
            if !hasBegun { await began() }
            hasBegun = true
            for event in try parser.feed(bytes.readableBytesView) { await take(event) }
        }
        return 200
    }
}
