import Foundation
import NIOCore
import NIOHTTP1
import Records
import Synchronization
import TestSupport
import Testing

@testable import FleetService

/// The device tokens of a run, for another system.
@Suite(.timeLimit(.minutes(5))) struct WebhookTests {
    private final class Requests: Sendable {
        private let all = Mutex<[CannedRequest]>([])

        func add(_ request: CannedRequest) { all.withLock { $0.append(request) } }

        func taken() -> [CannedRequest] {
            all.withLock { all in
                defer { all = [] }
                return all
            }
        }
    }

    /// Returns the tokens in a request.
    private func tokens(in request: CannedRequest) throws -> [String] {
        #expect(request.method == "POST" && request.path == "/tokens")
        #expect(request.headers.first(name: "content-type") == "application/json")
        #expect(!request.headers.contains(name: "authorization"), "the operator key stays in the suite")
        let document = try JSON(parsing: Array(request.body.readableBytesView))
        #expect(document.members?.map(\.name) == ["tokens"])
        return document["tokens"]?.items?.compactMap { $0["token"]?.string } ?? []
    }

    private func add(_ numbers: Range<Int>, to list: TokenList) -> [String] {
        for number in numbers {
            list.add(ScenarioToken(device: "phone-\(number)", app: "news", kind: "apns", token: "t\(number)"))
        }
        return numbers.map { "t\($0)" }
    }

    @Test func `a webhook gets each token in batches, and again after a failure`() async throws {
        let (requests, count) = (Requests(), Tally())
        let server = try await CannedServer.start { request in
            requests.add(request)
            count.add()
            let status = count.count == 1 ? 500 : 204
            return "HTTP/1.1 \(status) Answer\r\nContent-Length: 0\r\n\r\n"
        }
        let list = try TokenList(file: nil, webhook: server.url("/tokens"))
        var endpoints = Endpoints()
        endpoints.operatorKey = "secret"
        let (client, statistics) = (try SuiteClient(endpoints, connections: 1, streams: 1), RunStatistics())
        try await list.post(client, statistics)
        #expect(requests.taken().isEmpty, "no request without tokens")

        let first = add(0..<3, to: list)
        try await list.post(client, statistics)
        #expect(try requests.taken().map(tokens) == [first])
        #expect(statistics.counts.complaints == ["the webhook did not accept tokens: 500"])

        let rest = add(3..<1003, to: list)
        try await list.post(client, statistics)
        let batches = try requests.taken().map(tokens)
        #expect(batches.map(\.count) == [500, 500, 3] && batches.flatMap(\.self) == first + rest)
        try await list.post(client, statistics)
        #expect(requests.taken().isEmpty, "no token is sent twice")
        await client.close()
    }

    @Test func `a webhook that is away loses no token`() async throws {
        let port = try freePort()
        let list = try TokenList(file: nil, webhook: "http://127.0.0.1:\(port)/tokens")
        let (client, statistics) = (try SuiteClient(Endpoints(), connections: 1, streams: 1), RunStatistics())
        let added = add(0..<2, to: list)
        try await list.post(client, statistics)
        #expect(statistics.counts.complaints == ["the webhook did not accept tokens: no answer"])
        let requests = Requests()
        let server = try await CannedServer.start(port: port) { request in
            requests.add(request)
            return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        }
        try await list.post(client, statistics)
        #expect(try requests.taken().map(tokens) == [added])
        try await server.stop()
        await client.close()
    }
}
