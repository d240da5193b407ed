import AsyncHTTPClient
import Contracts
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import TransferMachine

/// Why a fetch could not go on.
struct FetchFailure: Error, Equatable {
    var end: AttemptEnd

    init(_ end: AttemptEnd) { self.end = end }

    /// What an error of the network means on the platform.
    init(network error: any Error) {
        switch error {
        case let failure as FetchFailure: self = failure
        case let error as HTTPClientError:
            switch error {
            case .connectTimeout, .readTimeout, .writeTimeout, .deadlineExceeded, .tlsHandshakeTimeout:
                end = .timedOut
            default: end = .connectionLost
            }
        case let error as NIOConnectionError:
            end = error.connectionErrors.isEmpty ? .hostNotFound : .cannotConnect
        case let error as IOError where error.errnoCode == ECONNREFUSED: end = .cannotConnect
        case ChannelError.connectTimeout: end = .timedOut
        default: end = .connectionLost
        }
    }
}

/// A GET as the daemon does it: redirects followed without asking, filtered at every hop.
struct Fetch: Sendable {
    /// Apple follows at most so many.
    static let redirectLimit = 20
    static let connectTimeout = TimeAmount.seconds(10)

    let origins: AllowedOrigins
    let url: String
    let headers: HTTPHeaders
    /// How long nothing may arrive.
    let idleTimeout: TimeAmount

    /// Sends it, and hands the answer to `body` while it arrives. The connection is closed when `body` returns.
    ///
    /// - Throws: ``FetchFailure``, what `body` throws, `CancellationError`.
    func run(_ body: (HTTPClientResponse) async throws -> Void) async throws {
        var url = url
        var headers = headers
        for _ in 0...Self.redirectLimit {
            guard let origin = WebOrigin(url: url) else { throw FetchFailure(.originNotAllowed) }
            var configuration = HTTPClient.Configuration()
            switch try await origins.way(to: origin) {
            case .direct: break
            case .pinned(let address): configuration.dnsOverride = [origin.host: address]
            case .refused: throw FetchFailure(.originNotAllowed)
            case .unresolvable: throw FetchFailure(.hostNotFound)
            }
            guard let next = try await hop(url, headers, configuration, body) else { return }
            guard let target = URL(string: next, relativeTo: URL(string: url))?.absoluteString else {
                throw FetchFailure(.originNotAllowed)
            }
            if WebOrigin(url: target) != origin {
                // What was meant for one server is no other's business.
                for name in ["Authorization", "Cookie", "Proxy-Authorization"] { headers.remove(name: name) }
            }
            url = target
        }
        throw FetchFailure(.tooManyRedirects)
    }

    /// One request.
    ///
    /// - Returns: where it is redirected to; nil where the answer was the last.
    private func hop(
        _ url: String, _ headers: HTTPHeaders, _ configuration: HTTPClient.Configuration,
        _ body: (HTTPClientResponse) async throws -> Void
    ) async throws -> String? {
        var configuration = configuration
        configuration.redirectConfiguration = .disallow
        configuration.decompression = .disabled
        configuration.httpVersion = .http1Only
        configuration.timeout = .init(connect: Self.connectTimeout, read: idleTimeout)
        // Trying again is the machine's: it says so in the log.
        configuration.connectionPool.retryConnectionEstablishment = false
        // A client of its own for each attempt: time-outs and pinned addresses are the client's, and cancelling it closes
        // no connection but this one.
        let client = HTTPClient(eventLoopGroup: MultiThreadedEventLoopGroup.singleton, configuration: configuration)
        let outcome: Result<String?, any Error>
        do {
            var request = HTTPClientRequest(url: url)
            request.headers = headers
            let response: HTTPClientResponse
            do { response = try await client.execute(request, deadline: .distantFuture) } catch {
                try Task.checkCancellation()
                throw FetchFailure(network: error)
            }
            if let target = Self.redirect(response) {
                outcome = .success(target)
            } else {
                try await body(response)
                outcome = .success(nil)
            }
        } catch { outcome = .failure(error) }
        // Ends the connection where the answer was not read to its end. Its own failure has no bearing on the outcome.
        try? await client.shutdown()
        return try outcome.get()
    }

    private static func redirect(_ response: HTTPClientResponse) -> String? {
        switch response.status.code {
        case 301, 302, 303, 307, 308: response.headers.first(name: "Location")
        default: nil
        }
    }
}

extension ResponseHead {
    /// What of an answer's head matters.
    ///
    /// - Parameter askedForRange: without it, `Content-Range` means nothing.
    init(_ response: HTTPClientResponse, askedForRange: Bool) {
        self.init()
        /// What is too long to be kept is as if it were not there.
        func field(_ name: String) -> String? {
            response.headers.first(name: name).flatMap { $0.utf8.count <= 256 ? $0 : nil }
        }
        status = Int(response.status.code)
        etag = field("ETag")
        lastModified = field("Last-Modified")
        contentType = field("Content-Type")
        contentLength = field("Content-Length").flatMap { Int($0) }
        acceptsRanges = status == 206 || field("Accept-Ranges")?.lowercased() == "bytes"
        guard askedForRange, status == 206 || status == 416, let range = field("Content-Range"),
            range.lowercased().hasPrefix("bytes ")
        else { return }
        let parts = range.dropFirst(6).split(separator: "/")
        guard parts.count == 2 else { return }
        completeLength = Int(parts[1])
        rangeStart = parts[0].split(separator: "-").first.flatMap { Int($0) }
    }
}
