import EventLog
import Foundation
import Postgres
import Records
import TestSupport
import Testing
import Timeline

@testable import Identity

/// The public keys of tokens that a service has in memory.
@Suite("Keys of tokens", .tags(.database), .timeLimit(.minutes(2))) struct TokenKeyringTests {
    /// Two requests have tokens with a key that this process has not read. The first request's read adds the key, and
    /// the second starts another read.
    @Test func `a key from another caller's read also verifies this caller's token`() async throws {
        let service = try await CounterService.prepare()
        let keyring = TokenKeyring(pool: service.pool, issuer: "counter")
        #expect(await keyring.refresh())
        let pem = DeviceTokens.newKey()
        let late = try await DeviceTokens(pem: pem, keyID: "counter-2")
        try await TokenKeys.add("counter", id: "counter-2", privateKey: pem, publicKey: late.publicKey, service.pool)
        let token = try await late.issue(device: "d1", fleet: "f1", id: "t1", lifetime: .hours(1), position: 0)
        #expect(await keyring.verifier.claims(of: Credential(token)) == nil)
        #expect(await keyring.refresh(), "the first request checks its token again")
        #expect(await keyring.refresh(), "the second request checks again although its read adds no key")
        #expect(await keyring.verifier.claims(of: Credential(token))?.device == "d1")
        await service.pool.close()
    }

    @Test func `a running service ends the streams of expired tokens`() async throws {
        let service = try await CounterService.prepare()
        let (keyring, tokens) = (TokenKeyring(pool: service.pool, issuer: "counter"), RevokedTokens())
        let follower = Task { try await TokenKeyFollower(keyring, tokens).run() }
        let claims: JSON = [
            "jti": "1", "iss": "dormouse", "device": "d1", "fleet": "f1", "iat": 0, "position": 1, "exp": 1,
        ]
        let stream = tokens.voiding(of: try JSONDecoder().decode(TokenClaims.self, from: Data(claims.bytes)))
        _ = try await withTimeout(seconds: 60, "the stream ends") { await stream.first { _ in true } }
        follower.cancel()
        _ = try await follower.value
        await service.pool.close()
    }
}
