import AsyncHTTPClient
import Foundation
import Glibc
import NIOCore
import NIOHTTP1
import NIOSSL
import Records
import TestSupport
import Testing

/// Hostile documents and header values for every running process: no process ends, and no call gets 500.
@Suite("Hostile documents", .tags(.database, .processes, .stockClient), .timeLimit(.minutes(10))) struct CorpusTests {
    /// The number of calls to each service; `DORMOUSE_CALLS` changes it.
    private static let calls = ProcessInfo.processInfo.environment["DORMOUSE_CALLS"].flatMap { Int($0) } ?? 250
    private static let seed = ProcessInfo.processInfo.environment["DORMOUSE_SEED"].flatMap { UInt64($0) } ?? 1

    @Test func `no call ends a process or gets 500`() async throws {
        let suite = try await RunningSuite.start()
        let attacked = try await Attacked(suite)
        let before = SuiteService.allCases.map { suite.process(of: $0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, service) in SuiteService.allCases.enumerated() {
                group.addTask {
                    var documents = HostileDocuments(seed: Self.seed &+ UInt64(number))
                    try await attacked.call(service, times: Self.calls, &documents)
                }
            }
            group.addTask {
                var documents = HostileDocuments(seed: Self.seed &+ 100)
                try await attacked.provide(times: Self.calls, &documents)
            }
            try await group.waitForAll()
        }
        for (service, process) in zip(SuiteService.allCases, before) {
            #expect(
                suite.process(of: service) == process && kill(process ?? 0, 0) == 0, "\(service) was restarted")
            #expect(try await suite.send(.GET, service, "/healthz").status == 200, "\(suite.words(of: service))")
        }
        // Every follower has read each accepted document.
        try await suite.waitUntilAllIsTakenIn()
        #expect(try await suite.call(.GET, .ops, "/v1/dead-letters").json["items"]?.items?.isEmpty == true)
        let ends = try await suite.stop()
        #expect(ends.values.allSatisfy { $0 == .exited(0) }, "\(ends)")
        try await suite.cluster.destroy()
    }
}

/// A suite with its API descriptions, and a device with much work in progress.
private struct Attacked {
    static let device = "d1"

    let suite: RunningSuite
    let operations: [SuiteService: [APIDescription.Operation]]
    let provider: Provider
    let token: String
    let channel: String

    init(_ suite: RunningSuite) async throws {
        self.suite = suite
        provider = try await Provider(suite)
        let device = "/v1/devices/\(Self.device)"
        let app = device + "/apps/\(Story.app)"
        try await suite.call(.PUT, .lifecycle, device, ["profile": "ios18"])
        let manifest: JSON = [
            "backgroundModes": ["audio", "location", "fetch", "remote-notification", "processing"],
            "notificationAuthorization": "authorized", "permittedTaskIdentifiers": ["sample-1"],
        ]
        try await suite.call(.PUT, .lifecycle, app, manifest)
        let launched = try await suite.call(.POST, .lifecycle, app + "/transitions", ["event": "launch"])
        let authorization = ["authorization": "bearer \(provider.token)"]
        let made = try await suite.call(
            .POST, .push, "/1/apps/\(Story.app)/channels", ["message-storage-policy": 1, "push-type": "LiveActivity"],
            headers: authorization)
        channel = try #require(made.headers.first(name: "apns-channel-id"))
        let registered = try await suite.call(
            .PUT, .push, app + "/registration", ["environment": "sandbox", "channels": [.string(channel)]],
            after: launched.position)
        token = try #require(registered.json["token"]?.string)
        try await suite.call(.PUT, .fetch, app + "/minimum-interval", ["interval": "minimum"], after: launched.position)
        try await suite.call(.PUT, .transfer, app + "/sessions/s", [:], after: launched.position)
        var operations: [SuiteService: [APIDescription.Operation]] = [:]
        for service in SuiteService.allCases {
            let description = try await suite.call(.GET, service, "/openapi.json").json
            operations[service] = APIDescription(description).operations.filter(Self.isCalled)
        }
        self.operations = operations
    }

    /// Excludes operations that end the device, its credentials or the suite's time, and endless streams.
    private static func isCalled(_ operation: APIDescription.Operation) -> Bool {
        operation.method != "DELETE" && !operation.path.hasSuffix("/token") && !operation.path.hasSuffix("/advance")
            && !operation.path.contains("/stream") && !operation.path.hasPrefix("/3/")
            && !(operation.isStream && !operation.queries.contains("wait"))
    }

    /// Calls random operations of a service with hostile bodies, headers, queries and names.
    func call(_ service: SuiteService, times: Int, _ documents: inout HostileDocuments) async throws {
        let operations = operations[service] ?? []
        for _ in 0..<times {
            let operation = documents.pick(operations)
            var request = suite.request(
                HTTPMethod(rawValue: operation.method), service, path(of: operation, &documents))
            if let schema = operation.requestSchema {
                let isAny = documents.below(8) == 0
                let body = isAny ? documents.next() : documents.nextBody(like: JSON(sampleOf: schema))
                request.headers.add(name: "content-type", value: "application/json")
                request.body = .bytes(body)
            }
            addHeaders(&request, &documents)
            try await send(request, "\(operation.name) \(request.url)")
        }
    }

    private func path(of operation: APIDescription.Operation, _ documents: inout HostileDocuments) -> String {
        var values = ["device": Self.device, "app": Story.app, "identifier": "s", "task": "1", "fleet": "f"]
        if documents.below(6) == 0, let name = operation.places.first { values[name] = queryText(&documents) }
        var path = operation.path(values)
        var queries: [String] = operation.isStream ? ["wait=0"] : []
        for name in operation.queries where documents.below(3) == 0 && name != "wait" {
            queries.append("\(name)=\(queryText(&documents))")
        }
        if !queries.isEmpty { path += "?" + queries.joined(separator: "&") }
        return path
    }

    private func queryText(_ documents: inout HostileDocuments) -> String {
        documents.nextHeaderValue().prefix(200).map { byte in
            let isPlain = UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte
            return isPlain
                ? String(UnicodeScalar(byte)) : "%" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }.joined()
    }

    private func addHeaders(_ request: inout HTTPClientRequest, _ documents: inout HostileDocuments) {
        guard documents.below(3) == 0 else { return }
        let name = documents.pick([
            "If-Match", "If-None-Match", "Idempotency-Key", "Last-Event-ID", "Accept", "Range", "traceparent",
            "Upload-Length", "Upload-Offset", "Upload-Metadata", "Upload-Concat", "Upload-Checksum", "Tus-Resumable",
            "Upload-Complete", "Want-Repr-Digest", "If-Range", "Upload-Draft-Interop-Version", "Dormouse-Position",
        ])
        // A client can send only tab and the printable characters.
        let value = documents.nextHeaderValue().filter { $0 == 0x09 || 0x20..<0x7F ~= $0 }
        // A position in the future makes the service wait for two seconds.
        guard name != "Dormouse-Position" || documents.below(10) == 0 else { return }
        request.headers.add(name: name, value: String(decoding: value, as: UTF8.self))
    }

    /// Sends hostile pushes and broadcasts, over HTTP/1.1 and over HTTP/2 with TLS.
    func provide(times: Int, _ documents: inout HostileDocuments) async throws {
        var configuration = HTTPClient.Configuration()
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(suite.apnsAuthority)
        configuration.tlsConfiguration = tls
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let template: JSON = ["aps": ["alert": "a", "content-available": 1], "data": ["list": [1, 2.5, .null]]]
        do {
            for number in 0..<times {
                let isBroadcast = documents.below(4) == 0
                let base = number.isMultiple(of: 2) ? suite.apnsAddress : suite.address(.push)
                var request = HTTPClientRequest(
                    url: base + (isBroadcast ? "/4/broadcasts/apps/\(Story.app)" : "/3/device/\(token)"))
                request.method = .POST
                request.headers.add(name: "authorization", value: "bearer \(provider.token)")
                var headers =
                    isBroadcast
                    ? ["apns-channel-id": channel, "apns-push-type": "liveactivity"]
                    : ["apns-topic": Story.app, "apns-push-type": "alert"]
                if documents.below(3) == 0 {
                    let name = documents.pick(["apns-collapse-id", "apns-expiration", "apns-id", "apns-priority"])
                    let value = documents.nextHeaderValue().filter { 0x20..<0x7F ~= $0 }
                    headers[name] = String(decoding: value, as: UTF8.self)
                }
                for (name, value) in headers { request.headers.add(name: name, value: value) }
                let isAny = documents.below(2) == 0
                request.body = .bytes(isAny ? documents.next() : documents.nextBody(like: template))
                let version = try await send(request, "\(request.url)", by: client)
                #expect(version.major == (number.isMultiple(of: 2) ? 2 : 1))
            }
            try await client.shutdown()
        } catch {
            try? await client.shutdown()
            throw error
        }
    }

    @discardableResult
    private func send(
        _ request: HTTPClientRequest, _ words: String, by client: HTTPClient = RunningSuite.client
    ) async throws -> HTTPVersion {
        let response = try await client.execute(request, timeout: .seconds(60))
        let body = try await response.body.collect(upTo: 1 << 26)
        #expect(response.status.code != 500, "\(words): \(String(buffer: body))")
        return response.version
    }
}
