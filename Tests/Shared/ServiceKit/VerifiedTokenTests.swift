import Crypto
import Synchronization
import TestSupport
import Testing
import Timeline

@testable import Identity

/// The cache of verified tokens.
@Suite(.tags(.processes)) struct VerifiedTokenTests {
    private let clock = ManualClock(Instant(milliseconds: 1_000_000_000))

    private func issuer(_ id: String = "k1") async throws -> DeviceTokens {
        try await DeviceTokens(pem: DeviceTokens.newKey(), keyID: id, clock: clock)
    }

    private func token(of issuer: DeviceTokens, lifetime: Interval = .hours(1)) async throws -> Credential {
        Credential(try await issuer.issue(device: "d1", fleet: "f1", id: "t", lifetime: lifetime, position: 3))
    }

    @Test func `a cached token has the claims of its verification until it expires`() async throws {
        let issuer = try await issuer()
        let verifier = DeviceTokenVerifier(clock: clock)
        try await verifier.trust(["k1": issuer.publicKey])
        let token = try await token(of: issuer)
        let claims = try #require(await verifier.claims(of: token))
        #expect(claims.device == "d1" && claims.fleet == "f1" && claims.position == 3)
        #expect(verifier.verifiedClaims(of: token) == claims)
        #expect(verifier.verifiedClaims(of: Credential(token.text)) == claims)
        clock.advance(by: .hours(1))
        #expect(verifier.verifiedClaims(of: token) == nil)
        #expect(verifier.verifiedCount == 0, "an expired token leaves the cache")
        #expect(await verifier.claims(of: token) == nil)
    }

    @Test func `a refused token is not cached`() async throws {
        let verifier = DeviceTokenVerifier(clock: clock)
        try await verifier.trust(["k1": issuer().publicKey])
        #expect(await verifier.claims(of: try token(of: issuer())) == nil)
        #expect(verifier.verifiedCount == 0)
    }

    @Test func `another key set empties the cache, and the same one keeps it`() async throws {
        let issuer = try await issuer()
        let keys = ["k1": issuer.publicKey]
        let verifier = DeviceTokenVerifier(clock: clock)
        try await verifier.trust(keys)
        let token = try await token(of: issuer)
        _ = await verifier.claims(of: token)
        try await verifier.trust(keys)
        #expect(verifier.verifiedClaims(of: token) != nil)
        try await verifier.trust(keys.merging(["k2": try await self.issuer("k2").publicKey]) { first, _ in first })
        #expect(verifier.verifiedCount == 0)
        #expect(await verifier.claims(of: token) != nil, "its key is still trusted")
        try await verifier.trust(["k1": self.issuer().publicKey])
        #expect(await verifier.claims(of: token) == nil, "another key has the same id")
    }

    @Test func `a cached token is refused after its revocation`() async throws {
        let revoked = RevokedTokens()
        try await TestService.run(revoked: revoked) { service in
            let token = try await service.tokens.issue(
                device: "d1", fleet: "f1", id: "t", lifetime: .hours(1), position: 7)
            for _ in 0..<2 { #expect(try await service.send("GET", "/v1/devices/d1", key: token).status == 200) }
            revoked.note("d1", before: 8)
            #expect(try await service.send("GET", "/v1/devices/d1", key: token).code == "invalid_credential")
        }
    }

    @Test func `the cache keeps the tokens in use and at most its limit`() {
        var tokens = VerifiedTokens(limit: 10)
        func claims(_ number: Int) -> TokenClaims {
            TokenClaims(
                jti: "\(number)", iss: "dormouse", device: "d\(number)", fleet: "f", iat: 0, exp: 1, position: nil,
                incarnation: nil)
        }
        func hash(_ number: Int) -> SHA256Digest { Credential("\(number)").hash }
        for number in 0..<100 {
            tokens.insert(claims(number), of: hash(number))
            #expect(tokens.claims(of: hash(0)) == claims(0), "it is used again and again")
            #expect(tokens.claims(of: hash(number)) == claims(number))
            #expect(tokens.count <= 10)
        }
        #expect(tokens.claims(of: hash(50)) == nil)
    }
}
