import Foundation
import JWTKit
import Records
import TestSupport
import Testing

/// kalyke, unchanged except for the host and the trusted certificates.
@Suite(.tags(.database, .processes, .stockClient), .timeLimit(.minutes(4))) struct KalykeTests {
    private static let packages = ["kalyke-apns==1.5.0", "httpx2[http2]==2.16.2", "PyJWT[crypto]==2.15.1"]

    @Test func `kalyke sends with a token whose time is a string of digits`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("phone")
            let payload: JSON = ["aps": ["alert": "hi"]]
            let unknown = String(repeating: "0f", count: 32)
            let answers = try await Self.send(
                [token, unknown].map { ["token": .string($0), "payload": payload] }, suite)
            let id = try #require(answers.first?["id"]?.string)
            #expect(try await suite.send("GET", "/v1/notifications/\(id)").status == 200)
            #expect(answers.last?["error"] == "BadDeviceToken")
        }
    }

    @Test func `kalyke starts, updates and ends a Live Activity`() async throws {
        try await PushSuite.run { suite in
            _ = try await suite.makeDevice("phone")
            let app = "/v1/devices/phone/apps/\(PushSuite.app)"
            let start = try await suite.whileOnScreen("phone") {
                let made = try await suite.send("PUT", app + "/registration", ["kind": "pushToStart"])
                return try #require(made.json["token"]?.string)
            }
            var stream = try await DeviceStream(suite, "phone")
            let payload: JSON = [
                "aps": [
                    "timestamp": .int(Int(Date().timeIntervalSince1970)), "event": "start",
                    "content-state": ["score": 0], "attributes-type": "Match", "attributes": ["teams": "a-b"],
                    "alert": ["title": "Kick-off"],
                ]
            ]
            let script = "kalyke_live_activity"
            let started = try await Self.send([["token": .string(start), "payload": payload]], suite, script)
            #expect(started.first?["id"]?.string != nil)
            try await suite.acknowledgeNext(of: &stream, "phone")
            let first = try #require(try await suite.send("GET", app + "/live-activities").json["items"]?.items?.first)
            #expect(first["attributesType"] == "Match" && first["contentState"] == ["score": 0])

            let token = try #require(first["token"])
            let update: JSON = ["token": token, "event": "update", "state": ["score": 1]]
            let end: JSON = ["token": token, "event": "end", "state": ["score": 2]]
            let wrong: JSON = ["token": .string(String(repeating: "0f", count: 32)), "event": "end", "state": [:]]
            let answers = try await Self.send([update, end, wrong], suite, script)
            #expect(answers.map { $0["error"]?.string } == [nil, nil, "BadDeviceToken"])
            for _ in 0..<2 { try await suite.acknowledgeNext(of: &stream, "phone") }
            let last = try await suite.send("GET", app + "/live-activities").json["items"]?.items?.first
            #expect(last?["state"] == "ended" && last?["contentState"] == ["score": 2])
        }
    }

    private static func send(
        _ requests: [JSON], _ suite: PushSuite, _ script: String = "kalyke_client"
    ) async throws -> [JSON] {
        let python = try await PythonEnvironment.make(packages)
        let key = suite.certificates.appending(path: "key.p8")
        try suite.signer.key.pemRepresentation.write(to: key, atomically: true, encoding: .utf8)
        let plan: JSON = [
            "base": .string("https://localhost:\(suite.apns)"), "ca": .string(suite.authority),
            "key": .string(key.path), "keyID": .string(suite.signer.keyID), "teamID": .string(suite.signer.teamID),
            "topic": .string(PushSuite.app), "requests": .array(requests),
        ]
        let file = suite.certificates.appending(path: "plan.json")
        try Data(plan.bytes).write(to: file)
        let script = try #require(
            Bundle.module.path(forResource: script, ofType: "py", inDirectory: "Python"))
        return try await python.run(script, [file.path]).map { try JSON(parsing: Array($0.utf8)) }
    }
}
