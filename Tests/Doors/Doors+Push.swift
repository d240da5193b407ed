import Contracts
import Foundation
import RandomScenarios
import PushCore
import Records
import TestSupport
import Timeline

@testable import PushService

extension Door {
    private static let publicKey = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEN6vvtpdeEkrsgRG8YgcW/pw6Tg0O
        omXeFMrAEQmPqC1qxFESBXf05MXG4430TY07k+vzqHgYR4Po9H8o3CeSqQ==
        -----END PUBLIC KEY-----
        """

    static let push: [Door] = [
        .rest(
            RegistrationDocument.self,
            ["environment": "sandbox", "kind": "apns", "channels": [.string(DoorSuite.channel)]], \.push
        ) {
            .register(
                app: DoorSuite.app, $0.environment, kind: $0.kind, activity: $0.activity, channels: $0.channels)
        },
        .rest(
            LiveActivityStartDocument.self,
            [
                "attributesType": "Match", "channel": .string(DoorSuite.channel), "contentState": ["score": 0],
                "environment": "sandbox", "frequentUpdates": true, "staleDate": "2030-01-01T00:00:00.000Z",
            ], \.push
        ) { .startActivity(app: DoorSuite.app, activity: "y", $0.request) },
        .rest(
            LiveActivityUpdateDocument.self,
            ["contentState": ["score": 1], "staleDate": "2030-01-01T00:00:00.000Z"], \.push
        ) {
            .updateActivity(
                app: DoorSuite.app, activity: DoorSuite.activity, contentState: $0.contentState, staleDate: $0.staleDate
            )
        },
        .rest(
            LiveActivityEndDocument.self,
            ["contentState": ["score": 2], "dismissalDate": "2030-01-01T00:00:00.000Z"], \.push
        ) {
            .endActivity(
                app: DoorSuite.app, activity: DoorSuite.activity, contentState: $0.contentState,
                dismissalDate: $0.dismissalDate)
        },
        .rest(
            NotificationContent.self,
            [
                "attachments": ["cat.png"], "badge": 3, "body": "clear", "sound": "bell", "subtitle": "s", "title": "t",
            ], \.push
        ) { .modify(notification: DoorSuite.notification, $0) },
        .rest(
            CategoriesDocument.self,
            [
                "categories": [
                    [
                        "actions": [["identifier": "reply", "options": ["foreground"], "textInput": true]],
                        "identifier": "c", "options": ["customDismissAction"],
                    ]
                ]
            ], \.push
        ) { .setCategories(app: DoorSuite.app, $0.categories) },
        .rest(
            NotificationResponse.self, ["actionIdentifier": "reply", "userText": "yes"], \.push
        ) { .respond(notification: DoorSuite.shownNotification, $0) },
        .rest("push", PresentationDocument.self, ["options": ["banner", "sound"]]),
        .rest(AcknowledgementLine.self, ["device": "d1", "notification": .string(DoorSuite.notification)], \.push) {
            .acknowledge(notification: $0.notification)
        },
        .rest(PushService.ThrottleDocument.self, ["enabled": false], \.push) { .setThrottle($0.enabled) },
        .rest(
            "push", ProviderKeyDocument.self,
            [
                "keyID": "KEYKEYKEY1", "teamID": "TEAMTEAM01", "environment": "sandbox",
                "publicKey": .string(publicKey), "topics": ["a"],
            ]),
        Door("push payload", alert, isFreeForm: true) { document, suite, documents in
            var headers = [
                "apns-topic": DoorSuite.app, "apns-push-type": documents.pick(["alert", "background", "voip"]),
            ]
            if headers["apns-push-type"] == "voip" { headers["apns-topic"] = DoorSuite.app + ".voip" }
            try send(document, headers, &suite)
        },
        Door("push headers", alert) { _, suite, documents in
            var headers = ["apns-topic": DoorSuite.app]
            for _ in 0...documents.below(2) {
                let name = documents.pick([
                    "apns-collapse-id", "apns-expiration", "apns-priority", "apns-id", "apns-push-type", "apns-topic",
                ])
                headers[name] = String(decoding: documents.nextHeaderValue(), as: UTF8.self)
            }
            try send(alert.bytes, headers, &suite)
        },
        Door(
            "broadcast", ["aps": ["event": "update", "content-state": ["score": 1], "timestamp": 1_750_000_000]],
            isFreeForm: true
        ) {
            document, suite, documents in
            try broadcast(
                document, ["apns-expiration": documents.pick(["0", "1760000000", "9223372036854775807"])], &suite)
        },
        Door("broadcast headers", ["aps": ["event": "update"]]) { _, suite, documents in
            let name = documents.pick(["apns-expiration", "apns-priority", "apns-channel-id", "apns-push-type"])
            let value = String(decoding: documents.nextHeaderValue(), as: UTF8.self)
            try broadcast(Array(#"{"aps":{"event":"update"}}"#.utf8), [name: value], &suite)
        },
        Door("channel", ["message-storage-policy": 1, "push-type": "LiveActivity"]) { document, _, _ in
            let read = try ChannelConfiguration(document)
            guard try ChannelConfiguration(read.json.bytes) == read else {
                throw DoorFault("the channel changes in a round trip")
            }
        },
    ]

    private static let alert: JSON = [
        "aps": ["alert": ["title": "t", "body": "b"], "content-available": 1, "badge": 3, "sound": "default"],
        "id": 7, "state": ["list": [1, 2.5, "x", .null, true]],
    ]

    private static func request(_ path: String, _ headers: [String: String], _ body: [UInt8]) -> ProviderRequest {
        ProviderRequest(
            method: "POST", path: path,
            headers: headers.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) },
            body: body.count > ProviderRequest.bodyLimit ? nil : body)
    }

    /// Like the provider endpoint.
    private static func send(_ body: [UInt8], _ headers: [String: String], _ suite: inout DoorSuite) throws {
        guard let token = suite.token(of: headers["apns-push-type"] == "voip" ? .voip : .apns) else { return }
        let request = request("/3/device/\(token)", headers, body)
        guard PushToken(try ProviderRules.token(request)) == token else { throw DoorFault("the token changes") }
        try ProviderRules.requireSingleHeaders(request)
        let draft = try ProviderRules.draft(
            request, apnsID: try ProviderRules.apnsID(request), grant: ProviderGrant(topics: []))
        let expiration = ProviderRules.suiteTime(ofExpiration: draft.expiration, at: suite.now, real: .monday)
        let id = NotificationID(token, random: UUID()).description
        try suite.submit(.receive(draft.push(as: id, to: token, in: .sandbox, expiration: expiration)), \.push)
    }

    /// Like the provider endpoint and then the relay.
    private static func broadcast(_ body: [UInt8], _ headers: [String: String], _ suite: inout DoorSuite) throws {
        let standard = ["apns-channel-id": DoorSuite.channel, "apns-push-type": "liveactivity"]
        let request = request("/4/broadcasts/apps/\(DoorSuite.app)", standard.merging(headers) { $1 }, body)
        guard try ChannelRequest(request).action == .broadcast else { throw DoorFault("not a broadcast") }
        let draft = try BroadcastDraft(request)
        try draft.requireExpiration(of: ChannelConfiguration(stores: true))
        let stored: JSON
        do { stored = try JSON(parsing: draft.payload.bytes) } catch {
            throw DoorFault("the relay can't read the broadcast: \(error)")
        }
        try suite.submit(
            .receiveBroadcast(
                IncomingBroadcast(
                    app: DoorSuite.app, channel: draft.channel.description, environment: .sandbox,
                    requestID: try ChannelRequest.requestID(request), priority: draft.priority,
                    expiration: ProviderRules.suiteTime(
                        ofExpiration: draft.expiration, at: suite.now, real: .monday),
                    neverStored: draft.expiration == 0, payload: stored)), \.push)
    }
}
