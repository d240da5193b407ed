import Contracts
import LifecycleCore
import Machines
import Records
import TestSupport
import Testing

@testable import OpsService

/// Data of other versions of a service, as during a rolling deploy.
@Suite("Time travel between versions", .tags(.database), .timeLimit(.minutes(2))) struct OtherVersionsTests {
    private static let path = "/v1/devices/d1/state?service=lifecycle"
    private static let partition = AggregateKey.device("d1").partition(of: OpsFixture.partitions)

    /// Runs a body with a registered device.
    private func withDevice(_ body: @Sendable @escaping (OpsFixture) async throws -> Void) async throws {
        try await OpsFixture.run { fixture in
            let registered = LifecycleEvent.DeviceRegistered(registration: Registration(profile: .ios18))
            try await fixture.append(
                type(of: registered).type, to: "d1", data: String(decoding: registered.jsonBytes, as: UTF8.self))
            try await body(fixture)
        }
    }

    @Test(arguments: [("lifecycle.app.dreamt", 1), ("lifecycle.device.registered", 2)])
    func `events of a newer version get 503 newer_program_needed`(type: String, version: Int) async throws {
        try await withDevice { fixture in
            try await fixture.append(type, to: "d1")
            try await fixture.sql("UPDATE bus.events SET version = \(version) WHERE log_offset = 2")
            let answer = try await fixture.get(Self.path)
            #expect(answer.status == 503 && answer.code == "newer_program_needed")
            #expect(answer.headers["retry-after"] == "1")
            #expect(answer.json["detail"]?.string?.contains(type) == true)
            let before = try await fixture.get(Self.path + "&at=\(Self.partition):1")
            #expect(before.status == 200 && before.json["events"]?.int == 1)
        }
    }

    @Test func `a malformed event gets 500`() async throws {
        try await withDevice { fixture in
            try await fixture.append("lifecycle.app.installed", to: "d1", data: "{}")
            let answer = try await fixture.get(Self.path)
            #expect(answer.status == 500 && answer.code == "internal_error")
        }
    }

    /// The events are dropped; only the stored state is left.
    @Test(arguments: [(1, 503, "newer_program_needed"), (-1, 410, "beyond_retention")])
    func `a stored state of another version without its events cannot be read`(
        by difference: Int, status: Int, code: String
    ) async throws {
        try await withDevice { fixture in
            try await fixture.sql("DELETE FROM bus.events")
            try await fixture.sql(
                """
                INSERT INTO bus.snapshots
                    (partition, key, service, log_offset, machine_version, state, event_count, decided_at, is_base)
                VALUES (\(Self.partition), 'device:d1', 'lifecycle', 1, \(LifecycleMachine.version + difference), '\\x00',
                    1, 0, true)
                """)
            let answer = try await fixture.get(Self.path)
            #expect(answer.status == status && answer.code == code)
        }
    }

    /// A fold of all events gives the same state.
    @Test func `a stored state of another version is not needed if its events are there`() async throws {
        try await withDevice { fixture in
            try await fixture.sql(
                """
                INSERT INTO bus.snapshots
                    (partition, key, service, log_offset, machine_version, state, event_count, decided_at, is_base)
                VALUES (\(Self.partition), 'device:d1', 'lifecycle', 1, \(LifecycleMachine.version + 1), '\\x00', 1, 0, false)
                """)
            let answer = try await fixture.get(Self.path)
            #expect(answer.status == 200 && answer.json["state"]?["registration"]?["profile"] == "ios18")
        }
    }
}
