import Contracts
import Foundation
import JWTKit
import Records
import TestSupport
import Testing

/// Requests for a stock client, each with a name and the name of its connection.
struct StockPlan {
    /// A provider token: signed by PyJWT, or a literal text.
    struct Token {
        var keyID = "KEYKEYKEY1"
        var teamID = "TEAMTEAM01"
        /// The id of the signing key, if it is not the key of the token's `kid`.
        var signer: String?
        /// The age of its `iat`, in seconds.
        var age = 0
        var text: String?

        var json: JSON {
            [
                "kid": .string(keyID), "iss": .string(teamID), "key": .string(signer ?? keyID), "age": .int(age),
                "text": text.map { .string($0) } ?? .null,
            ]
        }
    }

    struct Request {
        var name: String
        /// A new connection by default.
        var connection: String?
        var method = "POST"
        var path: String
        var headers: [(String, String)] = []
        var body: String?
        var token: Token? = Token()
        /// The file with the client certificate and key of its connection.
        var certificate: String?
        /// Repeats the request until it gets this status, at most `limit` times.
        var until: Int?
        var limit = 1

        var json: JSON {
            let pairs = headers.map { JSON.array([.string($0.0), .string($0.1)]) }
            var members: [JSON.Member] = [
                .init("name", .string(name)), .init("connection", .string(connection ?? name)),
                .init("method", .string(method)), .init("path", .string(path)), .init("headers", .array(pairs)),
                .init("limit", .int(limit)),
            ]
            if let body { members.append(.init("body", .string(body))) }
            if let token { members.append(.init("token", token.json)) }
            if let certificate { members.append(.init("certificate", .string(certificate))) }
            if let until { members.append(.init("until", .int(until))) }
            return .object(members)
        }
    }

    struct Answer {
        let name: String
        let version: String
        let status: Int
        let headers: [String: String]
        let json: JSON

        var reason: String? { json["reason"]?.string }
    }

    /// The base URL.
    var base: String
    var http2 = false
    /// The path of the certificate to trust.
    var ca: String?
    /// The private keys in PEM, by key id.
    var keys: [String: String]
    /// Validates every answer.
    let description: APIDescription

    /// Sends the requests in order.
    func send(_ requests: [Request]) async throws -> [Answer] {
        let python = try await PythonEnvironment.make()
        let plan: JSON = [
            "base": .string(base), "http2": .bool(http2), "ca": ca.map { .string($0) } ?? .null,
            "keys": .object(keys.sorted { $0.key < $1.key }.map { .init($0.key, .string($0.value)) }),
            "requests": .array(requests.map(\.json)),
        ]
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("plan-\(UUID().uuidString).json")
        try Data(plan.bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let script = try #require(Bundle.module.path(forResource: "stock_client", ofType: "py", inDirectory: "Python"))
        let lines = try await python.run(script, [file.path], within: 100)
        let answers = try lines.map { line in
            let answer = try JSON(parsing: Array(line.utf8))
            let headers = (answer["headers"]?.members ?? []).map { ($0.name, $0.value.string ?? "") }
            return Answer(
                name: answer["name"]?.string ?? "", version: answer["version"]?.string ?? "",
                status: answer["status"]?.int ?? 0, headers: Dictionary(headers) { $1 },
                json: (try? JSON(parsing: Array((answer["body"]?.string ?? "").utf8))) ?? .null)
        }
        #expect(answers.map(\.name) == requests.map(\.name))
        for (request, answer) in zip(requests, answers) {
            let plain = PushSuite.Answer(
                status: answer.status, headers: answer.headers, json: answer.json, isEmpty: answer.json == .null)
            if let fault = description.fault(of: plain, to: request.method, request.path) {
                Issue.record("\(request.name): \(fault)")
            }
        }
        return answers
    }
}
