import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Records

/// A whole response.
struct SuiteResponse: Sendable {
    let status: Int
    let headers: HTTPHeaders
    /// The body as JSON; null if it is none.
    let document: JSON
}

extension SuiteClient {
    /// Sends an HTTP request once, and reads the whole response.
    ///
    /// - Returns: the response with any status; nil if there was none.
    /// - Throws: only `CancellationError`.
    func exchange(
        _ method: String, _ url: String, _ headers: HTTPHeaders, _ body: [UInt8]?, type: String,
        timeout: TimeAmount = SuiteClient.timeout
    ) async throws(CancellationError) -> SuiteResponse? {
        var request = HTTPClientRequest(url: url)
        request.method = HTTPMethod(rawValue: method)
        request.headers = headers
        if let body {
            request.headers.add(name: "content-type", value: type)
            request.body = .bytes(ByteBuffer(bytes: body))
        }
        do {
            let response = try await calls.execute(request, timeout: timeout)
            let bytes = try await response.body.collect(upTo: 64 << 20)
            return SuiteResponse(
                status: Int(response.status.code), headers: response.headers,
                document: (try? JSON(parsing: Array(bytes.readableBytesView))) ?? .null)
        } catch {
            if Task.isCancelled { throw CancellationError() }
            return nil
        }
    }
}
