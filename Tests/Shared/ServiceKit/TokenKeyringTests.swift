import EventLog
import Postgres
import Testing
import Timeline

@testable import ServiceKit

/// The public keys of tokens in the memory of a service.
@Suite("Keys of tokens", .timeLimit(.minutes(2))) struct TokenKeyringTests {
    /// Two requests have tokens of a key that this process has not read. The first request's read brings the key, and
    /// the second asks for another read.
    @Test func `a key that another caller's reading brought opens this caller's token too`() async throws {
        let service = try await CounterService.prepare()
        let keyring = TokenKeyring(pool: service.pool, issuer: "counter")
        #expect(await keyring.refresh())
        let pem = DeviceTokens.newKey()
        let late = try await DeviceTokens(pem: pem, keyID: "counter-2")
        try await TokenKeys.add("counter", id: "counter-2", privateKey: pem, publicKey: late.publicKey, service.pool)
        let token = try await late.issue(device: "d1", fleet: "f1", id: "t1", lifetime: .hours(1), position: 0)
        #expect(await keyring.verifier.claims(of: token) == nil)
        #expect(await keyring.refresh(), "the first looks at its token again")
        #expect(await keyring.refresh(), "so does the second, though nothing is new to this reading")
        #expect(await keyring.verifier.claims(of: token)?.device == "d1")
        await service.pool.close()
    }
}
