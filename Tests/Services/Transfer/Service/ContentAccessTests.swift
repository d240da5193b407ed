import Foundation
import Identity
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing
import Timeline

/// Access to `/content`.
@Suite(.tags(.database, .processes)) struct ContentAccess {
    @Test func `only operators may change content and everybody may read it`() async throws {
        let folder = try Folder()
        let keys = folder.url.appendingPathComponent("keys")
        let lines = [
            OperatorKeys.line(name: "reader", scopes: [.read], key: "reader-key"),
            OperatorKeys.line(name: "operator", scopes: [.read, .operate], key: "operator-key"),
        ]
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: keys)
        let (suite, open) = try await UploadsSuite.start(["--operator-key-file", keys.path])
        let tokens = try await DeviceTokens(pem: DeviceTokens.newKey(), keyID: "k1")
        _ = try await suite.sql(
            "INSERT INTO bus.token_keys VALUES ('k1', '\(TokenIssuer.service)', '\(tokens.publicKey)') RETURNING kid")
        open.process.signal(SIGTERM)
        let closed = try await suite.replica(access: [])
        defer { suite.stop(closed) }
        var refusals = [("reader-key", 403), ("nonsense", 401), (nil, 401)]
        for device in ["d1", nil] {
            let token = try await tokens.issue(
                device: device, fleet: "f1", id: device ?? "all", lifetime: Interval(milliseconds: 3_600_000))
            refusals.append((token, 403))
        }
        func send(_ method: HTTPMethod, _ path: String, as bearer: String?, _ text: String? = nil) async throws -> Int {
            try await closed.send(
                method, path, bearer.map { ["Authorization": "Bearer \($0)"] } ?? [:],
                text.map { ByteBuffer(string: $0) }
            ).status
        }
        for path in ["/content/film", "/content/films/summer.mp4"] {
            for (bearer, status) in refusals {
                #expect(try await send(.PUT, path, as: bearer, "other") == status, "\(bearer ?? "nobody")")
            }
            #expect(try await send(.GET, path, as: nil) == 404, "no refused PUT has stored a file")
            #expect(try await send(.PUT, path, as: "operator-key", "film") == 201)
            for (bearer, status) in refusals {
                #expect(try await send(.PUT, path, as: bearer, "other") == status, "\(bearer ?? "nobody")")
                #expect(try await send(.DELETE, path, as: bearer) == status, "\(bearer ?? "nobody")")
            }
            #expect(String(buffer: try await closed.send(.GET, path).body) == "film", "everybody may read it")
            #expect(try await send(.DELETE, path, as: "operator-key") == 204)
        }
    }
}
