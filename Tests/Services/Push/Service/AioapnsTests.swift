import Contracts
import Foundation
import JWTKit
import Records
import TestSupport
import Testing

@testable import PushService

/// aioapns, unchanged except for the host and the trusted certificates.
@Suite(.tags(.database, .processes, .stockClient), .timeLimit(.minutes(4))) struct AioapnsTests {
    private struct Answer {
        let status: String
        let reason: String?
        let timestamp: Int?
    }

    @Test(arguments: [false, true])
    func `aioapns sends many notifications at once and gets the reasons of errors`(byCertificate: Bool) async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("phone")
            let old = try await suite.makeDevice("tablet")
            try await suite.unregister("tablet")
            var stream = try await DeviceStream(suite, "phone")

            var requests = (0..<30).map { number -> JSON in
                ["token": .string(token), "message": ["aps": ["alert": "hi"], "n": .int(number)], "ttl": 3600]
            }
            requests.append(["token": .string(old), "message": ["aps": ["alert": "gone"]]])
            requests.append(["token": .string(token), "message": ["aps": ["alert": "x"]], "priority": 7])
            let silent: JSON = [
                "token": .string(token), "message": ["aps": ["content-available": 1], "n": 99], "type": "background",
                "priority": 5,
            ]
            let answers = try await Self.send(requests + [silent], suite, byCertificate: byCertificate)
            #expect(answers.prefix(30).allSatisfy { $0.status == "200" && $0.reason == nil })
            #expect(answers[30].status == "410" && answers[30].reason == "Unregistered")
            let team = byCertificate ? "" : suite.signer.teamID
            let refused = #"dormouse_push_provider_refusals_total{reason="Unregistered",team="\#(team)"} 1"#
            #expect(try await suite.text("/metrics").contains(refused))
            #expect(answers[30].timestamp.map { $0 > 1_700_000_000_000 } == true)
            #expect(answers[31].status == "400" && answers[31].reason == "BadPriority")
            #expect(answers[32].status == "200")

            var seen: Set<Int> = []
            while seen.count < 31, let next = try await stream.next() {
                next["payload"]?["n"]?.int.map { _ = seen.insert($0) }
            }
            #expect(seen == Set(0..<30).union([99]))
        }
    }

    private static func send(
        _ requests: [JSON], _ suite: PushSuite, byCertificate: Bool
    ) async throws -> [Answer] {
        let python = try await PythonEnvironment.make()
        var plan: [JSON.Member] = [
            .init("port", .int(suite.apns)), .init("ca", .string(suite.authority)),
            .init("topic", .string(PushSuite.app)),
            .init("requests", .array(requests)),
        ]
        if byCertificate {
            let authority = try DevelopmentAuthority.open(suite.certificates)
            let issued = try authority.issueClientCertificate(topic: PushSuite.app, environments: [.sandbox])
            let file = suite.certificates.appending(path: "client.pem")
            try (issued.certificate + "\n" + issued.key).write(to: file, atomically: true, encoding: .utf8)
            plan.append(.init("certificate", .string(file.path)))
        } else {
            plan.append(.init("key", .string(suite.signer.key.pemRepresentation)))
            plan.append(.init("keyID", .string(suite.signer.keyID)))
            plan.append(.init("teamID", .string(suite.signer.teamID)))
        }
        let file = suite.certificates.appending(path: "plan.json")
        try Data(JSON.object(plan).bytes).write(to: file)
        let script = try #require(
            Bundle.module.path(forResource: "aioapns_client", ofType: "py", inDirectory: "Python"))
        return try await python.run(script, [file.path]).map { line in
            let answer = try JSON(parsing: Array(line.utf8))
            return Answer(
                status: answer["status"]?.string ?? "", reason: answer["reason"]?.string,
                timestamp: answer["timestamp"]?.int)
        }
    }
}
