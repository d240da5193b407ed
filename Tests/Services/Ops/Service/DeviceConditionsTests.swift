import Contracts
import Foundation
import Postgres
import Records
import TestSupport
import Testing

@testable import OpsService

@Suite("The conditions of devices", .tags(.database), .timeLimit(.minutes(2))) struct DeviceConditionsTests {
    /// Appends the lives of devices whose conditions change, also before a registration of the same name.
    private func appendConditions(_ fixture: OpsFixture) async throws {
        for (device, type, data) in [
            ("a", "device.registered", #"{"registration":{"profile":"ios18"}}"#),
            ("b", "device.registered", #"{"registration":{"profile":"ios18","fleet":"lab"}}"#),
            ("a", "conditions.changed", #"{"conditions":{"locked":true,"battery":{"charging":true,"level":0.1}}}"#),
            ("a", "conditions.changed", #"{"conditions":{"battery":{"charging":false,"level":0.29}}}"#),
            ("b", "conditions.changed", #"{"conditions":{"lowPowerMode":true}}"#),
            ("b", "conditions.changed", #"{"conditions":{"network":{"kind":"none"},"lowPowerMode":false}}"#),
            ("c", "device.registered", #"{"registration":{"profile":"ios18"}}"#),
            ("c", "conditions.changed", #"{"conditions":{"locked":true,"lowPowerMode":true}}"#),
            ("c", "device.deregistered", "{}"),
            ("c", "device.registered", #"{"registration":{"profile":"ios18"}}"#),
            ("c", "conditions.changed", #"{"conditions":{"battery":{"charging":true,"level":1}}}"#),
        ] {
            try await fixture.append("lifecycle.\(type)", to: device, data: data)
        }
    }

    @Test(arguments: [1, 2, 3, 100] as [Int32])
    func `devices are filtered by their conditions, for any batches`(size: Int32) async throws {
        try await OpsFixture.run { fixture in
            try await appendConditions(fixture)
            let count = Statement("SELECT ops.count_events(NULL, $1)")
            while try await fixture.pool.execute(Query(count, .int4(size)))[0].decode(Int.self, at: 0) > 0 {}
            for (filter, names) in [
                ("locked=true", "a"), ("locked=false", "bc"), ("lowPowerMode=true", ""), ("lowPowerMode=false", "abc"),
                ("charging=true", "c"), ("charging=false", "ab"), ("batteryBelow=30", "a"), ("batteryBelow=29", ""),
                ("batteryBelow=100", "a"), ("locked=false&charging=false&fleet=lab", "b"),
            ] {
                let found = try await fixture.get("/v1/devices?\(filter)").items.compactMap { $0["device"]?.string }
                #expect(found.joined() == names, "\(filter)")
            }
            let items = try await fixture.get("/v1/devices").items
            #expect(items.map { $0["batteryLevel"] } == [0.29, 1, 1])
            #expect(items[0]["locked"] == true && items[0]["lowPowerMode"] == false && items[2]["charging"] == true)
            let now = try await fixture.get("/v1/stats").json["now"]
            #expect(now?["devicesLocked"] == 1 && now?["devicesCharging"] == 1)
            #expect(now?["devicesInLowPowerMode"] == 0 && now?["devicesLowOnBattery"] == 0)
            let lab = try await fixture.get("/v1/stats?fleet=lab").json["now"]
            #expect(lab?["devicesLocked"] == 0)
            let faults = try await fixture.get("/v1/devices?locked=1&charging=&lowPowerMode=on&batteryBelow=0").faults
            #expect(faults == ["/locked", "/charging", "/lowPowerMode", "/batteryBelow"])
        }
    }

    /// An older program has counted the log.
    @Test func `the migration gives known devices the conditions that the log has`() async throws {
        try await OpsFixture.run { fixture in
            try await appendConditions(fixture)
            try await fixture.append(
                "lifecycle.device.registered", to: "d", data: #"{"registration":{"profile":"ios18"}}"#)
            try await fixture.count()
            let rows = Statement(
                "SELECT key, locked, low_power_mode, charging, battery_level FROM ops.known_devices ORDER BY key")
            let row = (String, Bool?, Bool?, Bool?, Double?).self
            let before = try await fixture.owner.execute(Query(rows)).decode(row).map { "\($0)" }
            for text in [
                "DELETE FROM bus.events WHERE key = 'device:d' OR key = 'device:a' AND type LIKE '%registered'",
                "DROP VIEW ops.devices", "DROP FUNCTION ops.update_known_conditions, ops.update_known_devices",
                "ALTER FUNCTION ops.update_registered_devices RENAME TO update_known_devices",
                "ALTER TABLE ops.known_devices DROP COLUMN locked, DROP COLUMN low_power_mode, DROP COLUMN charging, "
                    + "DROP COLUMN battery_level",
                "DROP VIEW ops.audit", "DROP INDEX ops.counts_hours_partition_fleet_start_idx",
                "DROP INDEX ops.counts_days_partition_fleet_start_idx", "DROP INDEX ops.known_pushes_refused_idx",
                "DELETE FROM ops.migrations WHERE number >= 2",
            ] { try await fixture.sql(text) }
            let connection = try await Connection.open(fixture.options, logger: fixture.logger)
            _ = try await OpsSchema.migrator().apply(on: connection, logger: fixture.logger)
            await connection.close()
            let after = try await fixture.owner.execute(Query(rows)).decode(row).map { "\($0)" }
            // The log has only the reports of `a`, and nothing about `d`.
            #expect(after[0] == #"("device:a", Optional(true), nil, Optional(false), Optional(0.29))"#)
            #expect(after[1...2] == before[1...2])
            #expect(after[3] == #"("device:d", nil, nil, nil, nil)"#)
        }
    }
}
