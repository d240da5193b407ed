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

    private static func send(_ requests: [JSON], _ suite: PushSuite) async throws -> [JSON] {
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
            Bundle.module.path(forResource: "kalyke_client", ofType: "py", inDirectory: "Python"))
        return try await python.run(script, [file.path]).map { try JSON(parsing: Array($0.utf8)) }
    }
}
