import Contracts
import EventLog
import Foundation
import LifecycleCore
import Machines
import Postgres
import Records
import Runtime
import TestSupport
import Testing
import Timeline

@testable import OpsService

/// The comparison of stored states with the log.
@Suite("States compared with the log", .tags(.database), .timeLimit(.minutes(2))) struct FoldAuditTests {
    @Test func `the audit finds a state that differs from the log`() async throws {
        try await OpsFixture.run { fixture in
            let connection = try await Connection.open(fixture.options, logger: fixture.logger)
            try await RuntimeSchema.migrate(
                service: LifecycleMachine.name, connection, partitions: OpsFixture.partitions, rolePassword: nil,
                logger: fixture.logger)
            await connection.close()
            let registered = LifecycleEvent.DeviceRegistered(registration: Registration(profile: .ios18))
            for device in ["d1", "d2"] {
                try await fixture.append(
                    type(of: registered).type, to: device, data: String(decoding: registered.jsonBytes, as: UTF8.self))
            }
            func check(_ query: String = "") async throws -> JSON {
                try await fixture.get("/v1/log/check" + query).json
            }
            #expect(try await check()["folds"] == [], "no state is stored yet")

            for device in ["d1", "d2"] {
                try await keep(try await fixture.get(Self.path(device)).json, device, fixture)
            }
            let sound = try await check("?folds=10")
            #expect(sound["sound"] == true && sound["dense"] == true)
            #expect(sound["folds"] == [["checked": 2, "differing": [], "service": "lifecycle"]])
            #expect(try await check("?folds=0")["folds"] == [])

            try await fixture.sql("UPDATE lifecycle.states SET event_count = 2 WHERE key = 'device:d2'")
            let broken = try await check("?folds=10")
            #expect(broken["sound"] == false && broken["dense"] == true)
            #expect(broken["folds"]?[0]?["differing"] == ["device:d2"])
            try await fixture.sql(
                "UPDATE lifecycle.states SET event_count = 1, state = (SELECT o.state FROM lifecycle.states AS o WHERE o.key = 'device:d1')"
            )
            #expect(try await check("?folds=10")["sound"] == true)
            #expect(try await fixture.get("/v1/log/check?folds=1001").code == "invalid_query")
        }
    }

    private static func path(_ device: String) -> String { "/v1/devices/\(device)/state?service=lifecycle" }

    /// Stores a state as the runtime does.
    private func keep(_ told: JSON, _ device: String, _ fixture: OpsFixture) async throws {
        let key = AggregateKey.device(device)
        let partition = key.partition(of: OpsFixture.partitions)
        let travel = TimeTravel<LifecycleMachine> { try await fixture.pool.execute($0) }
        let past = try #require(try await travel.aggregate(key, partition: partition, at: .offset(.max)))
        let insert = Statement(
            """
            INSERT INTO lifecycle.states
                (partition, key, state, machine_version, version, event_count, decided_at, next_deadline)
            VALUES ($1, $2, $3, $4, $5, $6, 0, $7)
            """)
        _ = try await fixture.owner.execute(
            Query(
                insert,
                [
                    .int4(Int32(partition)), .text(key.description), .bytes(past.aggregate.state.binary),
                    .int4(Int32(LifecycleMachine.version)), .int(past.offset), .int(past.aggregate.eventCount),
                    .int(past.aggregate.nextDeadline.map { Int($0.milliseconds) }),
                ]))
    }
}
