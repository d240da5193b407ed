import Foundation
import Records
import Synchronization
import TestSupport
import Testing

/// `/openapi.json` of the process as it runs. Beside these tests every other one holds its answers to it.
@Suite("The description of push", .timeLimit(.minutes(4))) struct DescriptionTests {
    /// What every service has; `ServiceKit` describes and tests it.
    private static func isOwn(_ operation: Description.Operation) -> Bool {
        let shared = ["/healthz", "/readyz", "/metrics", "/openapi.json", "/v1/dead-letters", "/v1/parked/"]
        return !shared.contains { operation.path.hasPrefix($0) }
    }

    @Test func everyOperationThatIsDescribedIsARoute() async throws {
        try await PushSuite.run { suite in
            let operations = suite.description.operations
            #expect(operations.count > 20)
            for operation in operations {
                // A method that no path has tells of those that this one has.
                let answer = try await suite.send("PURGE", operation.path([:]))
                let allowed = answer.headers["allow"]?.components(separatedBy: ", ") ?? []
                #expect(answer.status == 405 && allowed.contains(operation.method), "\(operation.name)")
                let described = Set(operations.filter { $0.path == operation.path }.map(\.method))
                // Under /1, /3 and /4 the others are answered in APNs's words.
                if operation.path.hasPrefix("/v1/") { #expect(Set(allowed) == described, "\(operation.name)") }
            }
        }
    }

    @Test func everyCallOfAPNsIsDescribedWithItsReasons() async throws {
        try await PushSuite.run { suite in
            for (method, path, some) in [
                ("POST", "/3/device/{token}", ["BadDeviceToken", "Unregistered", "ExpiredProviderToken", "Shutdown"]),
                ("POST", "/4/broadcasts/apps/{app}", ["ChannelNotRegistered", "BadExpirationDate", "PayloadEmpty"]),
                ("POST", "/1/apps/{app}/channels", ["CannotCreateChannelConfig", "TopicMismatch"]),
            ] {
                let operation = try #require(suite.description.operation(method, path))
                #expect(operation.errors.isSuperset(of: some), "\(operation.name)")
                #expect(operation.errors.isDisjoint(with: ["not_found", "internal_error", "invalid_identifier"]))
            }
        }
    }

    @Test func anAnswerThatIsNotDescribedIsAFault() async throws {
        try await PushSuite.run { suite in
            let description = suite.description
            let keys = try await suite.send("GET", "/v1/provider-keys")
            #expect(description.fault(of: keys, to: "GET", "/v1/provider-keys") == nil)
            // It is no throttle, no APNs's error, and nothing that is made.
            #expect(description.fault(of: keys, to: "PUT", "/v1/devices/d1/throttle") != nil)
            #expect(description.fault(of: keys, to: "POST", "/v1/provider-keys") != nil)
            #expect(description.fault(of: keys, to: "POST", "/3/device/x") != nil)
            let missing = try await suite.send("GET", "/v1/notifications/none")
            #expect(description.fault(of: missing, to: "GET", "/v1/notifications/none") == nil)
            #expect(description.fault(of: missing, to: "GET", "/v1/provider-keys") != nil)
        }
    }

    // MARK: Refusals

    /// What depends on the service's own state or on who asks, not on what is asked; `ServiceKit` tests it.
    private static let circumstances: Set<String> = [
        "unauthenticated", "forbidden", "rate_limited", "busy", "overloaded", "stopping", "database_unavailable",
        "outcome_unknown", "parked", "state_too_large", "internal_error",
    ]

    @Test func everyRefusalThatIsDescribedIsGiven() async throws {
        try await PushSuite.run { suite in
            let given = Given(suite)
            let values = try await Self.prepare(suite)
            try await withThrowingTaskGroup(of: Void.self) { group in
                // A service waits for what it has not taken in yet: all of them at once.
                for operation in suite.description.operations where Self.isOwn(operation) {
                    group.addTask { try await Self.refuse(operation, values, given) }
                }
                try await group.waitForAll()
            }
            try await Self.refuseByState(given)
            try await Self.refuseKeys(given)
            let described = suite.description.operations.filter { Self.isOwn($0) && $0.path.hasPrefix("/v1/") }
                .flatMap { operation in
                    operation.errors.subtracting(Self.circumstances).map { "\(operation.name) \($0)" }
                }
            let missing = Set(described).subtracting(given.all).sorted()
            #expect(missing.isEmpty, "described, and never given: \(missing)")
        }
    }

    /// A device with a notification, and another one.
    private static func prepare(_ suite: PushSuite) async throws -> [String: String] {
        let token = try await suite.makeDevice("phone")
        let sent = try await suite.notify(token, ["aps": ["alert": "x"]])
        let stranger = try await suite.send("PUT", "/v1/devices/other", ["profile": "ios15"], port: suite.lifecycle)
        return [
            "device": "phone", "app": PushSuite.app, "team": suite.signer.teamID, "key": "KEYKEYKEY9",
            "notification": try #require(sent.headers["apns-unique-id"]),
            "bearer": try #require(stranger.json["token"]?.string),
        ]
    }

    /// What an operation refuses whatever it is about.
    private static func refuse(
        _ operation: Description.Operation, _ values: [String: String], _ given: Given
    ) async throws {
        let path = operation.path(values)
        let body = given.body(for: operation)
        func refuse(
            _ code: String, _ path: String? = nil, body other: [UInt8]? = nil, type: String = "application/json",
            headers: [String: String] = [:]
        ) async throws {
            guard operation.errors.contains(code) else { return }
            try await given.refuse(
                code, operation.method, path ?? operation.path(values), other ?? body, type: type, headers: headers)
        }
        func place(_ name: String, _ value: String) -> String {
            operation.path(values.merging([name: value]) { $1 })
        }
        let names = operation.path.split(separator: "/").filter { $0.hasPrefix("{") }.map {
            String($0.dropFirst().dropLast())
        }
        for name in names { try await refuse("invalid_identifier", place(name, "a%20b")) }
        try await refuse("invalid_credential", headers: ["authorization": "bearer nonsense"])
        try await refuse(
            "invalid_header",
            headers: operation.method == "POST" ? ["Idempotency-Key": "not a key"] : ["Dormouse-Position": "nowhere"])
        try await refuse("behind", headers: ["Dormouse-Position": "0:9000000"])
        try await refuse("precondition_failed", headers: ["If-Match": #""9000000""#])
        try await refuse("malformed_json", body: Array("{".utf8))
        try await refuse("unsupported_media_type", type: "text/plain")
        try await refuse("body_too_large", body: Array(repeating: 0x20, count: 70_000))
        try await refuse("invalid_document", body: Array(#"{"nonsense":1}"#.utf8))
        for query in ["limit=0", "cursor=x", "status=Lost", "wait=x", "from=x", "to=x", "type=x"]
        where operation.hasParameter(String(query.prefix { $0 != "=" })) {
            try await refuse("invalid_query", path + "?" + query)
        }
        try await refuse("device_not_registered", place("device", "nobody"))
        try await refuse("app_not_installed", place("app", "none"))
        if names.contains("device") {
            // Another's device is as if it were not there.
            try await refuse("not_found", headers: ["authorization": "bearer \(values["bearer"] ?? "")"])
            // The key was another request's.
            let key = "key-of-\(operation.name.filter { $0.isLetter })"
            let first = try await given.suite.send(
                "PUT", "/v1/devices/phone/throttle", ["enabled": true], ["Idempotency-Key": key])
            #expect(first.status == 200)
            let other = operation.path.hasSuffix("throttle") ? Array(#"{"enabled":false}"#.utf8) : nil
            try await refuse("idempotency_conflict", body: other, headers: ["Idempotency-Key": key])
        } else {
            try await refuse("not_found", place("notification", "none"))
        }
    }

    private static func refuseByState(_ given: Given) async throws {
        let suite = given.suite
        let device = "/v1/devices/phone"
        let registration = device + "/apps/\(PushSuite.app)/registration"
        let unknown = Data(count: 16).base64EncodedString()
        try await given.refuse(
            "unknown_channel", "PUT", registration, Array(#"{"channels":["\#(unknown)"]}"#.utf8))
        try await given.refuse("notification_not_shown", "POST", device + "/notifications/none/opened")
        try await given.refuse("not_connected", "POST", device + "/keep-alive")
        #expect(try await suite.send("DELETE", registration).status == 204)
        try await given.refuse("not_registered_for_notifications", "DELETE", registration)
        for (change, path, code) in [
            (#"{"network":{"kind":"none"}}"#, "/conditions", "no_network"),
            (#"{"event":"off"}"#, "/power", "device_off"),
        ] {
            let changed = try await suite.send(
                path == "/power" ? "POST" : "PATCH", device + path, try JSON(parsing: Array(change.utf8)),
                port: suite.lifecycle)
            let position = ["Dormouse-Position": try #require(changed.headers["dormouse-position"])]
            for query in ["", "?wait=0"] {
                try await given.refuse(code, "GET", device + "/notifications" + query, headers: position)
            }
        }
        try await given.refuse("device_off", "POST", device + "/notifications/none/opened")
    }

    private static func refuseKeys(_ given: Given) async throws {
        let path = "/v1/provider-keys"
        let suite = given.suite
        try await given.refuse("provider_key_exists", "POST", path, given.key(suite.signer.keyID))
        let keyed = ["Idempotency-Key": "k1"]
        let second = try await suite.send("POST", path, try JSON(parsing: given.key("KEYKEYKEY2")), keyed)
        #expect(second.status == 201)
        try await given.refuse("too_many_provider_keys", "POST", path, given.key("KEYKEYKEY3"))
        try await given.refuse("idempotency_conflict", "POST", path, given.key("KEYKEYKEY3"), headers: keyed)
    }
}

/// The refusals that were given so far, with their operations.
private final class Given: Sendable {
    let suite: PushSuite
    private let refusals = Mutex<Set<String>>([])
    var all: Set<String> { refusals.withLock { $0 } }

    init(_ suite: PushSuite) { self.suite = suite }

    func refuse(
        _ code: String, _ method: String, _ path: String, _ body: [UInt8]? = nil, type: String = "application/json",
        headers: [String: String] = [:]
    ) async throws {
        let answer = try await suite.send(method, path, bytes: body, type: type, headers)
        #expect(answer.code == code, "\(method) \(path): \(answer)")
        let operation = try #require(suite.description.operation(method, path))
        refusals.withLock { _ = $0.insert("\(operation.name) \(answer.code ?? "")") }
    }

    /// A body that an operation takes.
    func body(for operation: Description.Operation) -> [UInt8]? {
        guard operation.takesDocument else { return nil }
        switch operation.path.split(separator: "/").last {
        case "throttle": return Array(#"{"enabled":true}"#.utf8)
        case "provider-keys": return key("KEYKEYKEY8")
        default: return Array("{}".utf8)
        }
    }

    func key(_ id: String) -> [UInt8] {
        let key: JSON = [
            "keyID": .string(id), "teamID": .string(suite.signer.teamID), "environment": "sandbox",
            "publicKey": .string(suite.signer.publicKey),
        ]
        return key.bytes
    }
}

extension Description.Operation {
    fileprivate func hasParameter(_ name: String) -> Bool {
        document["parameters"]?.items?.contains { $0["name"]?.string == name } ?? false
    }
}
