import EventLog
import Logging
import Postgres
import Records
import TestSupport
import Testing

@testable import HTTPKit
@testable import ServiceKit

/// The audit trail of refused credentials.
@Suite("Refused credentials", .tags(.database), .timeLimit(.minutes(5))) struct RefusedCredentialTests {
    @Test func `a thousand refusals of an address become one row`() async throws {
        let service = try await CounterService.prepare()
        let refused = RefusedCredentials()
        for _ in 0..<1000 { refused.count(.invalid, from: "10.0.0.7") }
        refused.count(.limited, from: "10.0.0.7")
        let writer = RefusalWriter(refused: refused, pool: service.pool, logger: service.logger)
        // A failed write loses nothing.
        try await service.pool.execute(Statement("ALTER TABLE bus.audit RENAME TO away"))
        await writer.write()
        try await service.pool.execute(Statement("ALTER TABLE bus.away RENAME TO audit"))
        await writer.write()
        await writer.write()
        #expect(try await service.refusals() == ["10.0.0.7 invalid 1000", "10.0.0.7 limited 1"])
        await service.pool.close()
    }

    @Test func `a service writes the refusals at its shutdown, without the credentials`() async throws {
        let service = try await CounterService.prepare()
        try await service.run { () async throws in
            for number in 0..<3 {
                #expect(try await service.get("d1", as: "secret-\(number)").code == "invalid_credential")
            }
            #expect(try await service.refusals() == [], "no request waits for a row")
        }
        try await eventually(describe: "the row is written") { try await service.refusals() == ["127.0.0.1 invalid 3"] }
        let found = try await service.pool.execute(
            Statement("SELECT count(*) FROM bus.audit AS a WHERE a::text LIKE '%secret%'"))[0].decode(Int.self)
        #expect(found == 0)
        await service.pool.close()
    }

    @Test func `many addresses share the last row`() {
        let refused = RefusedCredentials()
        for number in 0..<RefusedCredentials.mostSources + 50 { refused.count(.invalid, from: "a\(number)") }
        let entries = refused.take()
        #expect(entries.count == RefusedCredentials.mostSources + 1)
        #expect(entries.first { $0.address == RefusedCredentials.others }?.count == 50)
        #expect(refused.take().isEmpty)
    }
}

extension CounterService {
    fileprivate func refusals() async throws -> [String] {
        try await pool.execute(
            Statement(
                """
                SELECT address || ' ' || (details ->> 'reason') || ' ' || count FROM bus.audit
                WHERE action = 'credential.refused' AND actor_kind = 'anonymous' ORDER BY 1
                """)
        ).decode(String.self)
    }
}
