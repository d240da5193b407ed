import Contracts
import Crypto
import JWTKit
import PushCore
import Testing
import Timeline

@testable import PushService

/// Signs provider tokens with the JWT library, independently of the code under test.
struct ProviderSigner: Sendable {
    struct Claims: JWTPayload {
        var iss: String
        var iat: Int

        func verify(using algorithm: some JWTAlgorithm) async throws {}
    }

    let key = ES256PrivateKey()
    var keyID = "KEYKEYKEY1"
    var teamID = "TEAMTEAM01"

    var publicKey: String { key.publicKey.pemRepresentation }

    func token(issuedAt: Instant) async throws -> String {
        let kid = JWKIdentifier(string: keyID)
        let keys = await JWTKeyCollection().add(ecdsa: key, kid: kid)
        return try await keys.sign(Claims(iss: teamID, iat: Int(issuedAt.milliseconds / 1000)), kid: kid)
    }

    func registered(environment: String = "sandbox") throws -> ProviderKey {
        ProviderKey(
            keyID: keyID, teamID: teamID, environment: environment, topics: [],
            publicKey: try P256.Signing.PublicKey(pemRepresentation: publicKey))
    }
}

@Suite struct ProviderSessionTests {
    let now = Instant(milliseconds: 1_750_000_000_000)
    let signer = ProviderSigner()

    private func admit(
        _ session: inout ProviderSession, _ text: String, _ keys: [ProviderKey], at moment: Instant
    ) throws -> String {
        try session.admit(ProviderSession.token("bearer " + text), keys: keys, environment: .sandbox, now: moment).keyID
    }

    @Test func `a valid token is accepted repeatedly until it expires`() async throws {
        var session = ProviderSession()
        let text = try await signer.token(issuedAt: now)
        let keys = [try signer.registered()]
        for minute in [0, 1, 59] {
            #expect(try admit(&session, text, keys, at: now + .minutes(Int64(minute))) == "KEYKEYKEY1")
        }
        #expect(session.team == "TEAMTEAM01")
        #expect(throws: APNsReason.expiredProviderToken) { try admit(&session, text, keys, at: now + .minutes(61)) }
    }

    @Test func `the time of a token may have a fraction`() async throws {
        let kid = JWKIdentifier(string: signer.keyID)
        let claims = FractionalClaims(iss: signer.teamID, iat: Double(now.milliseconds) / 1000 + 0.25)
        let text = try await JWTKeyCollection().add(ecdsa: signer.key, kid: kid).sign(claims, kid: kid)
        var session = ProviderSession()
        #expect(try admit(&session, text, [try signer.registered()], at: now) == "KEYKEYKEY1")
    }

    @Test func `the time of a token may be a string of digits`() async throws {
        let text = try await token(at: "\(now.milliseconds / 1000)")
        var session = ProviderSession()
        #expect(try admit(&session, text, [try signer.registered()], at: now) == "KEYKEYKEY1")
        let old = try await token(at: "\(now.milliseconds / 1000 - 3700)")
        #expect(throws: APNsReason.expiredProviderToken) {
            try admit(&session, old, [try signer.registered()], at: now)
        }
    }

    @Test(arguments: [
        "", " 1750000000", "1750000000.5", "+1750000000", "-1", "1e9", "0x1", "١٧٥", "9999999999999999999",
    ])
    func `any other string is not the time of a token`(_ time: String) async throws {
        let header = "bearer " + (try await token(at: time))
        #expect(throws: APNsReason.invalidProviderToken) { try ProviderSession.token(header) }
    }

    /// Signs a token as kalyke does.
    private func token(at time: String) async throws -> String {
        let kid = JWKIdentifier(string: signer.keyID)
        let keys = await JWTKeyCollection().add(ecdsa: signer.key, kid: kid)
        return try await keys.sign(TextClaims(iss: signer.teamID, iat: time), kid: kid)
    }

    private struct FractionalClaims: JWTPayload {
        var iss: String
        var iat: Double

        func verify(using algorithm: some JWTAlgorithm) async throws {}
    }

    private struct TextClaims: JWTPayload {
        var iss: String
        var iat: String

        func verify(using algorithm: some JWTAlgorithm) async throws {}
    }

    @Test(arguments: [
        (nil, APNsReason.missingProviderToken), ("basic x", .missingProviderToken), ("bearer", .invalidProviderToken),
        ("bearer x.y.z", .invalidProviderToken), ("bearer a b", .invalidProviderToken),
    ])
    func `a missing or malformed token is refused`(_ header: String?, _ reason: APNsReason) {
        #expect(throws: reason) { try ProviderSession.token(header) }
    }

    @Test func `a token must be signed by a registered key of its team`() async throws {
        var session = ProviderSession()
        let text = try await signer.token(issuedAt: now)
        let imposter = try ProviderSigner().registered()
        #expect(throws: APNsReason.invalidProviderToken) { try admit(&session, text, [], at: now) }
        #expect(throws: APNsReason.invalidProviderToken) { try admit(&session, text, [imposter], at: now) }
        let changed = text.dropLast(4) + "AAAA"
        #expect(throws: APNsReason.invalidProviderToken) {
            try admit(&session, String(changed), [try signer.registered()], at: now)
        }
        #expect(session.team == nil)
    }

    @Test func `a key of the other environment is refused`() async throws {
        var session = ProviderSession()
        let text = try await signer.token(issuedAt: now)
        #expect(throws: APNsReason.badEnvironmentKeyIDInToken) {
            try admit(&session, text, [try signer.registered(environment: "production")], at: now)
        }
    }

    @Test func `a token from the future is invalid`() async throws {
        var session = ProviderSession()
        let text = try await signer.token(issuedAt: now + .minutes(5))
        #expect(throws: APNsReason.invalidProviderToken) {
            try admit(&session, text, [try signer.registered()], at: now)
        }
    }

    @Test func `a connection accepts a new token at most every 20 minutes`() async throws {
        var session = ProviderSession()
        let keys = [try signer.registered()]
        _ = try admit(&session, try await signer.token(issuedAt: now), keys, at: now)
        let second = try await signer.token(issuedAt: now + .minutes(1))
        #expect(throws: APNsReason.tooManyProviderTokenUpdates) {
            try admit(&session, second, keys, at: now + .minutes(19))
        }
        #expect(try admit(&session, second, keys, at: now + .minutes(20)) == "KEYKEYKEY1")
    }

    @Test func `a connection is bound to its first team`() async throws {
        var session = ProviderSession()
        var other = ProviderSigner()
        other.teamID = "TEAMTEAM02"
        _ = try admit(&session, try await signer.token(issuedAt: now), [try signer.registered()], at: now)
        let text = try await other.token(issuedAt: now)
        #expect(throws: APNsReason.unrelatedKeyIDInToken) {
            try admit(&session, text, [try other.registered()], at: now + .hours(1))
        }
    }

    @Test func `a device token accepts a burst and then one request every 100 ms`() throws {
        let rates = TokenRates()
        let token = try #require(PushToken(String(repeating: "ab", count: 32)))
        for _ in 0..<100 { #expect(rates.admit(token, now: now)) }
        #expect(!rates.admit(token, now: now))
        #expect(rates.admit(token, now: now + .milliseconds(100)))
    }
}
