import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Records

/// An order stream, read by a client.
struct OrderStream {
    private var body: HTTPClientResponse.Body.AsyncIterator
    private var text = ""

    /// Connects, and waits until the stream is open.
    init(_ request: HTTPClientRequest, after: String? = nil) async throws {
        var request = request
        if let after { request.headers.add(name: "Last-Event-ID", value: after) }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(110))
        guard response.status == .ok else { throw StreamRefused(status: Int(response.status.code)) }
        body = response.body.makeAsyncIterator()
        while !text.hasPrefix(": open\n\n") {
            guard let part = try await body.next() else { throw StreamRefused(status: 0) }
            text += String(buffer: part)
        }
        text.removeFirst(": open\n\n".count)
    }

    init(_ fixture: LifecycleFixture, _ path: String, after: String? = nil, key: String = LifecycleFixture.operatorKey)
        async throws
    {
        try await self.init(fixture.request("GET", path, key: key), after: after)
    }

    /// Returns the next order with its id; nil at the end of the stream.
    mutating func next() async throws -> (id: String, order: JSON)? {
        while true {
            while let end = text.range(of: "\n\n") {
                let lines = text[..<end.lowerBound].split(separator: "\n")
                text.removeSubrange(..<end.upperBound)
                guard let id = lines.first(where: { $0.hasPrefix("id: ") })?.dropFirst(4),
                    let data = lines.first(where: { $0.hasPrefix("data: ") })?.dropFirst(6)
                else { continue }
                return (String(id), try JSON(parsing: Array(data.utf8)))
            }
            guard let part = try await body.next() else { return nil }
            text += String(buffer: part)
        }
    }
}

struct StreamRefused: Error { let status: Int }
