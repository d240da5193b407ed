import AsyncHTTPClient
import Contracts
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import Postgres
import Records
import Runtime
import ServiceKit
import TestSupport
import Testing
import Timeline

@testable import EventLog
@testable import Identity

@Suite("Revocation of tokens", .tags(.database), .timeLimit(.minutes(5))) struct RevocationTests {
    @Test func `every service refuses a revoked token and ends its streams`() async throws {
        let first = try await CounterService.prepare()
        let second = try first.replica()
        try await first.run { () async throws in
            try await second.run { () async throws in
                let (old, other) = (try await first.device("d1"), try await first.device("d2"))
                for service in [first, second] {
                    #expect(try await service.add(1, to: "d1", as: old).status == 200)
                }
                var open = try await first.stream("d1", as: old)
                var others = try await second.stream("d2", as: other)
                let place = try await first.revoke("d1")
                for service in [first, second] {
                    try await eventually(describe: "the token is refused") {
                        try await service.get("d1", as: old).code == "invalid_credential"
                    }
                    let new = try await first.device("d1", position: place)
                    #expect(try await service.get("d1", as: new).status == 200)
                    #expect(try await service.add(1, to: "d2", as: other).status == 200)
                }
                while try await open.next() != nil {}
                #expect(try await others.next() != nil, "the stream of another device continues")
                await #expect(throws: StreamRefused.self) { _ = try await first.stream("d1", as: old) }
            }
        }
        await first.pool.close()
    }

    @Test func `a later start knows revocations, also after retention has dropped their events`() async throws {
        let service = try await CounterService.prepare()
        let (old, gone) = (try await service.device("d1"), try await service.device("gone"))
        // No service runs yet, so only the log has the revocation.
        let place = try await service.revoke("d1")
        try await service.revoke("gone", by: LifecycleEvent.DeviceDeregistered.placeholder)
        let again = try service.replica()
        try await service.run { () async throws in
            // This is the first answer of the service.
            #expect(try await service.get("d1", as: old).status == 401)
            #expect(try await service.get("gone", as: gone).status == 401)
            #expect(try await service.add(1, to: "d1", as: service.device("d1", position: place)).status == 200)
        }
        _ = try await service.pool.execute(Query(Statement("DELETE FROM bus.events")))
        try await again.run { () async throws in
            #expect(try await again.get("d1", as: old).status == 401)
            #expect(try await again.get("gone", as: gone).status == 401)
            #expect(try await again.get("d1", as: again.device("d1", position: place)).status == 200)
        }
        await service.pool.close()
    }

    @Test func `revocations are read in bounded steps, and the latest one of a device is kept`() async throws {
        let service = try await CounterService.prepare()
        let log = RevocationLog(pool: service.pool)
        var places: [Int] = []
        for _ in 0..<3 { places.append(try await service.revoke("d1")) }
        let found = try await log.read(after: [:])
        #expect(found.isAtHead && found.found.devices == ["d1": places[2]])
        try await log.keep(found.found, partitions: 4)
        // A replica that has read less writes later.
        let partition = AggregateKey.device("d1").partition(of: 4)
        try await log.keep(Revocations(devices: ["d1": places[0]], positions: [partition: places[0]]), partitions: 4)
        let kept = try await log.kept()
        #expect(kept.devices == ["d1": places[2]] && kept.positions[partition] == places[2])
        // The head is further away than one step.
        _ = try await service.pool.execute(
            Query(
                Statement("UPDATE bus.partitions SET head = head + 50000 WHERE partition = $1"),
                [.int4(Int32(partition))]))
        let step = try await log.read(after: kept.positions)
        #expect(!step.isAtHead && step.found.positions[partition] == places[2] + LogReader.scanLimit)
        await service.pool.close()
    }

    @Test func `a revocation older than any token is deleted in memory and in the table`() async throws {
        let service = try await CounterService.prepare()
        let log = RevocationLog(pool: service.pool)
        try await log.keep(Revocations(devices: ["old": 7, "new": 9]), partitions: 4)
        _ = try await service.pool.execute(
            Query(
                Statement(
                    "UPDATE bus.revocations SET revoked_at = now() - interval '367 days' WHERE key = 'device:old'")))
        let kept = try await log.kept()
        let tokens = RevokedTokens()
        for (device, place) in kept.devices { tokens.note(device, before: place, at: try #require(kept.times[device])) }
        #expect(tokens.count == 2)
        let follower = RevocationFollower(
            tokens, pool: service.pool, partitions: 4,
            updates: WakeUpReceiver(
                try ConnectionOptions(url: service.configuration.databaseURL),
                sender: WakeUpSender(pool: service.pool, sender: UUID(), logger: service.logger), logger: service.logger
            ),
            storesRevocations: true, logger: service.logger)
        try await follower.forgetOld()
        #expect(tokens.count == 1)
        #expect(try await log.kept().devices == ["new": 9])
        await service.pool.close()
    }

    private func claims(
        _ device: String?, position: Int, incarnation: LogIncarnation? = nil, expiry: Int64 = .max / 1000
    ) throws -> TokenClaims {
        let claims: JSON = [
            "jti": "1", "iss": "dormouse", "device": device.map { .string($0) } ?? .null, "fleet": "f", "iat": 0,
            "position": .int(position), "exp": .int(Int(expiry)),
            "incarnation": incarnation.map { .string($0.id) } ?? .null,
        ]
        return try JSONDecoder().decode(TokenClaims.self, from: Data(claims.bytes))
    }

    /// The places of the lost events are given to other events, so a lost place says nothing.
    @Test func `after a restore, a revocation also voids the tokens of the lost log`() throws {
        let restored = LogIncarnation(id: "ba9876543210", isFirst: false, former: ["": [10]])
        let tokens = RevokedTokens(restored)
        let lost = try claims("d", position: 25)
        #expect(!tokens.contains(lost))
        tokens.note("d", before: 12)
        #expect(tokens.contains(lost))
        #expect(try !tokens.contains(claims("d", position: 12, incarnation: restored)))
        #expect(try tokens.contains(claims("d", position: 11, incarnation: restored)))
        // A revocation that the backup has.
        tokens.note("e", before: 6)
        #expect(try tokens.contains(claims("e", position: 5)))
        #expect(try !tokens.contains(claims("e", position: 6)))
        tokens.note(fleet: "f", before: 3, former: ["": 1])
        #expect(try tokens.contains(claims(nil, position: 4)))
        #expect(try !tokens.contains(claims(nil, position: 3, incarnation: restored)))
    }

    @Test func `after a second restore, a token counts for what its own incarnation has in common`() throws {
        let second = LogIncarnation(id: "222222222222", isFirst: false)
        let third = LogIncarnation(id: "333333333333", isFirst: false, former: ["": [10], second.id: [20]])
        let tokens = RevokedTokens(third)
        // Revoked between the two restores, and registered again before the second one.
        tokens.note("d", before: 15)
        tokens.note(fleet: "f", before: 2, former: ["": 1, second.id: 2])
        #expect(try tokens.contains(claims("d", position: 25)))
        #expect(try tokens.contains(claims("d", position: 14, incarnation: second)))
        #expect(try !tokens.contains(claims("d", position: 16, incarnation: second)))
        #expect(try tokens.contains(claims(nil, position: 2)))
        #expect(try !tokens.contains(claims(nil, position: 2, incarnation: second)))
        // A place of lost events counts as the last one in common.
        tokens.note("e", before: 22)
        #expect(try tokens.contains(claims("e", position: 30, incarnation: second)))
    }

    /// Two restores of one backup begin two incarnations, and the second does not know the first. Its places say nothing.
    @Test func `a revocation voids the tokens of an incarnation that the log does not know`() throws {
        let unknown = LogIncarnation(id: "222222222222", isFirst: false)
        let restored = LogIncarnation(id: "333333333333", isFirst: false, former: ["": [20]])
        for tokens in [RevokedTokens(restored), RevokedTokens()] {
            let device = try claims("d", position: 18, incarnation: unknown)
            let fleet = try claims(nil, position: 3, incarnation: unknown)
            #expect(!tokens.contains(device) && !tokens.contains(fleet))
            tokens.note("d", before: 15)
            tokens.note(fleet: "f", before: 1, former: ["": 1])
            #expect(tokens.contains(device) && tokens.contains(fleet))
        }
    }

    @Test func `an incarnation knows what it has in common with each former one`() async throws {
        let service = try await CounterService.prepare()
        func begin(atHead head: Int) async throws -> LogIncarnation {
            _ = try await service.pool.execute(Statement("UPDATE bus.partitions SET head = $1"), .int(head))
            return try await service.pool.withConnection {
                try await LogIncarnation.begin("test", $0, by: .machineUser, of: "ops")
            }
        }
        try await FleetRevocations.revoke("f", service.pool)
        let second = try await begin(atHead: 7)
        #expect(second.former == ["": [7, 7, 7, 7]])
        for fleet in ["f", "g"] { try await FleetRevocations.revoke(fleet, service.pool) }
        let generations = try await FleetRevocations.all(service.pool)
        #expect(generations["f"] == .init(current: 2, former: ["": 1]))
        #expect(generations["g"] == .init(current: 1))
        let third = try await begin(atHead: 9)
        #expect(third.former == ["": [7, 7, 7, 7], second.id: [9, 9, 9, 9]])
        #expect(try await FleetRevocations.all(service.pool)["f"] == .init(current: 2, former: ["": 1, second.id: 2]))
        #expect(try await FleetRevocations.all(service.pool)["g"] == .init(current: 1, former: [second.id: 1]))
        let issuer = try await TokenIssuer.open(service.pool, issuer: "counter")
        let token = try await issuer.fleet("f")
        let verifier = DeviceTokenVerifier()
        let key = try await TokenKeys.trusted("counter", service.pool)
        try await verifier.trust(key)
        let read = try await service.pool.withConnection { try await LogIncarnation.read($0) }
        #expect(await verifier.claims(of: Credential(token))?.incarnation == read.id)
        await service.pool.close()
    }

    @Test func `the streams of expired tokens end, and those of others go on`() async throws {
        let tokens = RevokedTokens()
        let expiry = RealClock().now.milliseconds / 1000
        func stream(_ device: String, expiresAt second: Int64) throws -> AsyncStream<Void> {
            tokens.voiding(of: try claims(device, position: 1, expiry: second))
        }
        let (ended, kept) = (try stream("a", expiresAt: expiry), try stream("b", expiresAt: expiry + 1))
        tokens.endExpired(at: Instant(milliseconds: expiry * 1000 - 1))
        #expect(tokens.watches == 2)
        tokens.endExpired(at: Instant(milliseconds: expiry * 1000))
        #expect(await ended.first { _ in true } != nil)
        #expect(tokens.watches == 1)
        withExtendedLifetime(kept) {}
    }

    @Test func `only the issuer's role can write revocations`() async throws {
        let cluster = try await PrivateCluster.shared()
        let connection = try await Connection.open(
            try ConnectionOptions(url: try await cluster.makeDatabase()), logger: Logger(label: "test"))
        try await LogSchema.migrate(connection, partitions: 4, logger: Logger(label: "test"))
        for service in ["lifecycle", "push"] {
            try await LogSchema.grant(service: service, password: nil, connection)
        }
        try await LogSchema.grantSigning(service: "lifecycle", connection)
        let write = "INSERT INTO bus.revocations (partition, key, log_offset) VALUES (0, 'device:d', 1)"
        for (role, mayWrite) in [("lifecycle", true), ("push", false)] {
            try await connection.script("SET ROLE dormouse_\(role)")
            _ = try await connection.execute(Query(Statement("SELECT count(*) FROM bus.revocations")))
            if mayWrite {
                try await connection.script(write)
            } else {
                await #expect(throws: PostgresError.self) { try await connection.script(write) }
            }
            try await connection.script("RESET ROLE")
        }
        await connection.close()
    }
}

struct StreamRefused: Error { let status: UInt }

extension CounterService {
    /// Opens the stream of a device's events, and waits until it is open.
    func stream(_ device: String, as key: String) async throws -> HTTPClientResponse.Body.AsyncIterator {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/v1/devices/\(device)/events")
        request.headers.add(name: "Authorization", value: "Bearer \(key)")
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(50))
        guard response.status == .ok else { throw StreamRefused(status: response.status.code) }
        var parts = response.body.makeAsyncIterator()
        _ = try await parts.next()
        return parts
    }

    /// Appends an event of `lifecycle` that revokes a device's tokens.
    ///
    /// - Returns: the offset of the event.
    @discardableResult
    func revoke(_ device: String, by data: some EventData = LifecycleEvent.DeviceRevoked.placeholder) async throws
        -> Int
    {
        try await pool.append(ForeignEvent(data, to: device, at: .epoch), partitions: 4).offset
    }
}
