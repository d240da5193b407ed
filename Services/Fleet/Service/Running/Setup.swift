import Contracts
import NIOHTTP1
import Records
import Scenarios
import Synchronization

/// A push token and its topic.
struct PushToken: Sendable {
    var token: String
    var topic: String
    /// Whether it is of a Push to Talk channel.
    var isOfChannel = false
}

/// The push tokens of the fleet.
final class PushTokens: Sendable {
    private let tokens = Mutex<[PushToken]>([])

    func add(_ token: PushToken) { tokens.withLock { $0.append(token) } }

    /// Returns a random token; nil while there is none.
    func pick(_ random: inout SeededRandom) -> PushToken? {
        let number = Int(random.next() >> 1)
        return tokens.withLock { $0.isEmpty ? nil : $0[number % $0.count] }
    }

    var count: Int { tokens.withLock(\.count) }
}

/// The preparation of a run: reads the API descriptions, gets a fleet token, uploads the content of downloads, and
/// registers the devices with their apps.
struct Setup: Sendable {
    let caller: Caller
    let fleet: String
    let run: String

    private var client: SuiteClient { caller.client }

    /// Reads the API description of every service, and gets a token for the fleet if the suite offers tokens.
    ///
    /// - Throws: ``FleetError`` if the suite refuses a token, or `CancellationError`.
    func enter() async throws {
        for service in ServiceName.allCases where client.endpoints.services[service] != nil {
            let call = Call(service, "GET", "/openapi.json", [])
            if let answer = try await caller.perform(call, patience: .seconds(60)) {
                client.documentation.learn(service, answer.document)
            }
        }
        let call = Call(.lifecycle, "POST", "/v1/fleets/{fleet}/token", [fleet])
        guard client.documentation.offers(call) else { return }
        let answer = try await caller.perform(call, key: "\(run)-token", asOperator: true)
        guard let token = answer?.document["token"]?.string else {
            throw FleetError("the suite refuses a token for fleet \(fleet): check the operator key")
        }
        client.enter(as: token)
    }

    /// Uploads the content of downloads to the origin of `transfer`.
    ///
    /// - Returns: its URL; nil without `transfer`, or if it refuses the content.
    func placeContent(bytes: Int) async throws(CancellationError) -> String? {
        guard let root = client.endpoints.services[.transfer] else { return nil }
        let url = "\(root)/content/fleet-\(bytes).bin"
        var random = SeededRandom(seed: UInt64(bytes))
        let body = (0..<bytes / 8).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
        for _ in 0..<20 {
            let key = client.endpoints.operatorKey
            let reply = try await client.send(
                "PUT", url, key.isEmpty ? [:] : ["authorization": "Bearer " + key], body,
                type: "application/octet-stream")
            if case .answered(let status, _, _, _) = reply {
                if (200...299).contains(status) { return url }
                caller.statistics.complain("transfer refuses the content: \(status)")
                return nil
            }
            do { try await Task.sleep(for: .milliseconds(500)) } catch { throw CancellationError() }
        }
        return nil
    }

    /// The most devices of a batch. A batch takes less time than the timeout of a request.
    static let batch = 100

    /// Registers devices and installs their apps, by a batch.
    ///
    /// - Returns: the position of each registered device; none of those whose line failed, or if the request failed.
    func register(_ devices: ArraySlice<SimulatedDevice>) async throws(CancellationError) -> [(Int, Position?)] {
        let lines = devices.map { device -> JSON in
            let apps = device.apps.map { app -> JSON in
                ["app": .string(app.model.identifier), "manifest": app.model.manifest]
            }
            return ["apps": .array(apps), "device": .string(device.identifier), "registration": device.registration]
        }
        let call = Call(.lifecycle, "POST", "/v1/fleets/{fleet}/devices", [fleet], lines: lines)
        let key = "\(run)-setup-\(devices.startIndex)"
        guard let answer = try await caller.perform(call, key: key) else { return [] }
        var registered: [(Int, Position?)] = []
        for (index, line) in zip(devices.indices, answer.document.items ?? []) {
            guard let status = line["status"]?.int, status < 300 else {
                caller.statistics.note { $0.errors += 1 }
                caller.statistics.complain("lifecycle refuses a device: \(line["detail"]?.string ?? "no reason")")
                continue
            }
            registered.append((index, line["position"]?.string.flatMap { Position($0) }))
        }
        return registered
    }

    /// Reads the token of an app for notifications; nil if the app has not registered yet.
    func pushToken(_ device: SimulatedDevice, _ app: AppModel) async throws(CancellationError) -> PushToken? {
        let call = Call(.push, "GET", "/v1/devices/{device}/apps/{app}/tokens", [device.identifier, app.identifier])
        let tokens = try await caller.perform(call)?.document["items"]?.items ?? []
        let token = tokens.first { $0["kind"]?.string == "apns" }?["token"]?.string
        return token.map { PushToken(token: $0, topic: app.identifier) }
    }
}
