import Foundation
import Identity
import Records
import ServiceKit
import TestSupport
import Testing
import Timeline

@Suite(.tags(.processes)) struct AuthenticationTests {
    @Test func `a request without a credential is refused except on open routes`() async throws {
        try await TestService.run { service in
            let answer = try await service.send("GET", "/v1/devices/d1", key: nil)
            #expect(answer.status == 401)
            #expect(answer.code == "unauthenticated")
            #expect(answer.headers["www-authenticate"] == #"Bearer realm="dormouse""#)
            #expect(try await service.send("GET", "/healthz", key: nil).status == 200)
        }
    }

    @Test func `insecure mode accepts a missing credential but not a wrong one`() async throws {
        try await TestService.run(insecure: true) { service async throws in
            #expect(try await service.send("GET", "/v1/devices/d1", key: nil).status == 200)
            #expect(try await service.send("GET", "/v1/devices/d1", key: "wrong").status == 401)
        }
    }

    @Test(arguments: [
        (["Host": "localhost:8080", "Origin": "http://127.0.0.1:9"], 200), (["Host": "[::1]:8080"], 200),
        (["Host": "evil.example"], 403), (["Host": "127.0.0.1.evil.example"], 403),
        (["Host": "localhost", "Origin": "https://evil.example"], 403), (["Origin": "null"], 403),
        (["Origin": "https://localhost.evil.example"], 403),
    ])
    func `insecure mode refuses a request of a foreign page`(_ headers: [String: String], _ status: Int) async throws {
        try await TestService.run(insecure: true) { service async throws in
            let answer = try await service.send("POST", "/v1/operate", nil, headers, key: nil)
            #expect(answer.status == status)
            if status == 403 { #expect(answer.code == "foreign_host") }
            // A credential is proof enough.
            #expect(try await service.send("POST", "/v1/operate", nil, headers).status == 200)
        }
    }

    @Test func `every answer forbids a browser to guess its type`() async throws {
        try await TestService.run { service async throws in
            let long = "/" + String(repeating: "a", count: 9_000)
            for path in ["/healthz", "/v1/devices/d1", "/v1/absent", "/v1/broken", long] {
                #expect(try await service.send("GET", path).headers["x-content-type-options"] == "nosniff")
            }
        }
    }

    @Test func `an operator's key allows only the requests of its scopes`() async throws {
        try await TestService.run { service in
            #expect(try await service.send("GET", "/v1/devices/d1").status == 200)
            let answer = try await service.send("POST", "/v1/operate", key: TestService.readersKey)
            #expect(answer.status == 403)
            #expect(answer.code == "forbidden")
            #expect(try await service.send("GET", "/v1/devices/d1", key: "correct-horsf").code == "invalid_credential")
        }
    }

    @Test func `a device token opens its own device and a fleet token all devices of the fleet`() async throws {
        try await TestService.run { service async throws in
            func status(device: String?, fleet: String) async throws -> Int {
                let token = try await service.tokens.issue(device: device, fleet: fleet, id: "t", lifetime: .hours(1))
                return try await service.send("GET", "/v1/devices/d1", key: token).status
            }
            #expect(try await status(device: "d1", fleet: "f1") == 200)
            #expect(try await status(device: "d2", fleet: "f1") == 404)
            #expect(try await status(device: nil, fleet: "f1") == 200)
            #expect(try await status(device: nil, fleet: "f2") == 404)
        }
    }

    @Test func `tampered, unsigned, expired, foreign and revoked tokens are refused`() async throws {
        let revoked = RevokedTokens()
        revoked.note("d1", before: 8)
        try await TestService.run(revoked: revoked) { service in
            let good = try await service.tokens.issue(device: "d2", fleet: "f1", id: "t", lifetime: .hours(1))
            let other = try await service.tokens.issue(device: "d1", fleet: "f1", id: "t", lifetime: .hours(1))
            let parts = (good.split(separator: "."), other.split(separator: "."))
            let tampered = "\(parts.0[0]).\(parts.1[1]).\(parts.0[2])"
            let unsigned = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.\(parts.1[1])."
            let past = Interval(milliseconds: -1000)
            let expired = try await service.tokens.issue(device: "d1", fleet: "f1", id: "t", lifetime: past)
            let (placeless, early) = (
                try await service.tokens.issue(device: "d1", fleet: "f1", id: "t", lifetime: .hours(1)),
                try await service.tokens.issue(device: "d1", fleet: "f1", id: "t", lifetime: .hours(1), position: 7)
            )
            let foreign = try await DeviceTokens(pem: DeviceTokens.newKey(), keyID: "k1")
                .issue(device: "d1", fleet: "f1", id: "t", lifetime: .hours(1))
            for token in [tampered, unsigned, expired, placeless, early, foreign] {
                let answer = try await service.send("GET", "/v1/devices/d1", key: token)
                #expect(answer.status == 401)
                #expect(answer.code == "invalid_credential")
            }
            let late = try await service.tokens.issue(
                device: "d1", fleet: "f1", id: "t", lifetime: .hours(1), position: 8)
            #expect(try await service.send("GET", "/v1/devices/d1", key: late).status == 200)
        }
    }

    @Test func `the key set contains the public key in URL-safe Base64`() async throws {
        let tokens = try await DeviceTokens(pem: DeviceTokens.newKey(), keyID: "k9")
        let key = try #require(tokens.keySet["keys"]?[0])
        #expect(key["kid"] == "k9")
        for member in ["x", "y"] { #expect(key[member]?.string?.utf8.count == 43) }
    }

    @Test(arguments: ["alice", "alice admin \(String(repeating: "0", count: 64))", "alice read 00", "alice read zz"])
    func `an invalid key file is refused with the number of the line`(_ line: String) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try Data("# keys\n\(line)".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let configuration = ServiceConfiguration(SettingsReader(["OPERATOR_KEY_FILE": file.path]), port: 1)
        #expect(
            throws: ConfigurationError(
                """
                OPERATOR_KEY_FILE, line 2: expected "name read|operate|read,operate sha256", and an optional expiry \
                such as 2027-01-31T00:00:00Z
                """)
        ) {
            _ = try configuration.operatorKeys()
        }
    }
}
