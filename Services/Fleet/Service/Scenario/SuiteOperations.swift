import Contracts
import Foundation
import NIOCore
import NIOHTTP1
import Records
import Timeline

/// The clock and the event feed of the suite, by `ops`.
actor SuiteOperations {
    private let client: SuiteClient
    private let address: String
    private let names: Set<String>
    /// The position after the last page of the feed.
    private var position: String?
    private var since: Instant

    /// The most real seconds for the services to settle after a step of the clock.
    private static let patience = 120.0
    /// The time for which a request without an answer is repeated.
    static let longestSilence = Duration.seconds(60)

    /// - Parameters:
    ///   - names: the devices whose events count.
    ///   - since: the first instant of the feed.
    init(_ client: SuiteClient, address: String, names: Set<String>, since: Instant) {
        self.client = client
        self.address = address
        self.names = names
        self.since = since
    }

    /// A reading of the clock.
    struct Reading: Sendable {
        let now: Instant
        let isVirtual: Bool
        let isFrozen: Bool
    }

    /// Reads the clock.
    static func read(_ client: SuiteClient, address: String) async throws -> Reading {
        let document = try await send(client, "GET", address + "/v1/clock", nil)
        guard let now = document["now"]?.string.flatMap({ Instant($0) }) else {
            throw FleetError("ops does not tell the suite time")
        }
        return Reading(
            now: now, isVirtual: document["virtual"]?.bool == true, isFrozen: document["frozen"]?.bool == true)
    }

    /// Freezes the virtual clock, or lets it run again.
    ///
    /// - Parameter limit: the time for which it asks again while there is no answer.
    static func freeze(
        _ client: SuiteClient, address: String, _ isFrozen: Bool, within limit: Duration = longestSilence
    ) async throws {
        _ = try await request(client, "PUT", address + "/v1/clock", ["frozen": .bool(isFrozen)], within: limit)
    }

    /// Advances the virtual clock, and waits until all services have settled.
    ///
    /// It does not wait for the answers of devices: those of a run answer after the advance, while the clock stands.
    ///
    /// - Parameter step: whether to stop at the first deadline of a service.
    /// - Returns: the suite time.
    static func advance(_ client: SuiteClient, address: String, by interval: Interval, step: Bool) async throws
        -> Instant
    {
        var body: [JSON.Member] = [
            .init("seconds", .double(interval.seconds)), .init("timeout", .double(patience)),
            .init("waitForDevices", 0),
        ]
        if step { body.append(.init("steps", 1)) }
        let document = try await send(client, "POST", address + "/v1/clock/advance", .object(body))
        guard let now = document["now"]?.string.flatMap({ Instant($0) }) else {
            throw FleetError("ops does not tell the suite time after an advance")
        }
        return now
    }

    /// Reads the new events of the devices.
    func events() async throws -> [Event] {
        var found: [Event] = []
        while true {
            var url = address + "/v1/events?order=oldest&limit=1000"
            url += position.map { "&after=" + $0 } ?? "&since=\(since)"
            let response = try await Self.request(client, "GET", url, nil)
            found += (response.document["items"]?.items ?? []).compactMap(Event.init(cloudEvent:))
                .filter { $0.key.device.map(names.contains) ?? false }
            position = response.headers.first(name: "dormouse-position") ?? position
            guard case .string? = response.document["next"] else { return found }
        }
    }

    private static func send(
        _ client: SuiteClient, _ method: String, _ url: String, _ body: JSON?
    ) async throws -> JSON { try await request(client, method, url, body).document }

    /// Sends a request until it gets an answer.
    ///
    /// - Throws: ``FleetError`` after a refusal, or without an answer.
    private static func request(
        _ client: SuiteClient, _ method: String, _ url: String, _ body: JSON?, within limit: Duration = longestSilence
    ) async throws -> SuiteResponse {
        let key = client.endpoints.operatorKey
        let headers: HTTPHeaders = key.isEmpty ? [:] : ["authorization": "Bearer " + key]
        let end = ContinuousClock.now + limit
        while true {
            let response = try await client.exchange(
                method, url, headers, body?.bytes, type: "application/json", timeout: .seconds(180))
            if let response, (200...299).contains(response.status) { return response }
            let isBusy = response.map { [409, 429, 503, 504].contains($0.status) } ?? true
            let code = response?.document["code"]?.string ?? response?.status.description ?? "no answer"
            guard isBusy, code != "clock_not_virtual", ContinuousClock.now < end else {
                throw FleetError("ops refuses \(method) \(url): \(code)")
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }
}
