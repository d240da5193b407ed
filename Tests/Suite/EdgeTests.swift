import AsyncHTTPClient
import HTTPKit
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// Rules for every route of every service, as their descriptions list them.
@Suite("The edge of the suite", .tags(.database, .processes), .timeLimit(.minutes(6))) struct EdgeTests {
    /// An existing device and app; no other exists.
    private static let names = ["device": "phone", "app": "news"]

    @Test func `every route is in the list of the suite and refuses unknown query parameters`() async throws {
        let suite = try await RunningSuite.start()
        for service in SuiteService.allCases {
            let operations = try await operations(of: service, suite)
            let own = operations.filter { operation in
                operation.method != "OPTIONS" && !SuiteRoutes.common.contains(operation.path)
                    && (operation.path != "/v1/dead-letters" || service == .ops)
            }
            let listed = SuiteRoutes.all.first { $0.name == service.rawValue }?.routes ?? []
            #expect(Set(own.map(\.name)) == Set(listed), "\(service)")

            for operation in operations where !mayHaveAnyQuery(operation) {
                let method = HTTPMethod(rawValue: operation.method)
                let answer = try await suite.send(method, service, operation.path(Self.names) + "?nonsense=1")
                #expect(answer.status == 400, "\(service) \(operation.name)")
                guard operation.method != "HEAD" else { continue }
                #expect(answer.json["code"] == "invalid_query", "\(service) \(operation.name)")
                #expect(
                    answer.json["detail"]?.string?.hasPrefix("nonsense is not a parameter of this route") == true,
                    "\(service) \(operation.name)")
            }
        }
        let wrong = try await suite.send(.GET, .lifecycle, "/v1/devices/phone/apps/news/fetches")
        #expect(wrong.status == 404 && wrong.json["detail"]?.string?.contains("`fetch` serves it") == true)
        _ = try await suite.stop()
        try await suite.cluster.destroy()
    }

    @Test func `a key that may only read appends no event by any route`() async throws {
        let suite = try await RunningSuite.start(virtualTime: true)
        try await suite.call(.PUT, .ops, "/v1/clock", ["frozen": true])
        try await suite.call(.PUT, .lifecycle, "/v1/devices/phone", ["profile": "ios15"])
        try await suite.call(.PUT, .lifecycle, "/v1/devices/phone/apps/news", [:])
        let before = try await settledHeads(suite)
        for service in SuiteService.allCases {
            for operation in try await operations(of: service, suite) {
                let path = operation.path(Self.names)
                for path in operation.hasParameter("wait") ? [path, path + "?wait=0"] : [path] {
                    let status = try await statusOfHead(operation.method, service, path, suite)
                    // APNs's own protocol has no operators. Other changes are always forbidden.
                    guard operation.needsCredential, !["GET", "HEAD"].contains(operation.method) else { continue }
                    #expect(status == 403, "\(service) \(operation.method) \(path)")
                }
            }
        }
        for (service, path) in [(SuiteService.push, "notifications"), (.lifecycle, "orders")] {
            let status = try await statusOfHead("GET", service, "/v1/devices/phone/\(path)", suite)
            #expect(status == 403, "\(service): it would take the device's own stream")
        }
        #expect(try await settledHeads(suite) == before)
        // The same call succeeds for an operator.
        try await suite.call(.GET, .push, "/v1/devices/phone/notifications?wait=0")
        #expect(try await settledHeads(suite) > before)
        _ = try await suite.stop()
        try await suite.cluster.destroy()
    }

    private func operations(of service: SuiteService, _ suite: RunningSuite) async throws -> [APIDescription.Operation]
    {
        let operations = APIDescription(try await suite.call(.GET, service, "/openapi.json").json).operations
        try #require(operations.count > 10)
        return operations
    }

    /// APNs's protocol, and downloads by other clients.
    private func mayHaveAnyQuery(_ operation: APIDescription.Operation) -> Bool {
        ["/1/", "/3/", "/4/"].contains { operation.path.hasPrefix($0) }
            || operation.path.hasPrefix("/content/") && ["GET", "HEAD"].contains(operation.method)
    }

    /// Returns the number of events in the log once no service consumes any more.
    private func settledHeads(_ suite: RunningSuite) async throws -> Int {
        var former = -1
        while true {
            try await suite.waitUntilAllIsTakenIn()
            let consumers = try await suite.call(.GET, .ops, "/v1/consumers").json["items"]?.items ?? []
            let heads = consumers.first?["partitions"]?.items?.compactMap { $0["head"]?.int }.reduce(0, +) ?? 0
            if heads == former { return heads }
            former = heads
        }
    }

    /// Returns the status of an answer whose body may be endless.
    private func statusOfHead(
        _ method: String, _ service: SuiteService, _ path: String, _ suite: RunningSuite
    ) async throws -> Int {
        let request = suite.request(HTTPMethod(rawValue: method), service, path, as: RunningSuite.readersKey)
        return Int(try await RunningSuite.client.execute(request, timeout: .seconds(60)).status.code)
    }
}
