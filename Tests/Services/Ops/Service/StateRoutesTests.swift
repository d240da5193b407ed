import Contracts
import Foundation
import LifecycleCore
import Machines
import Records
import TestSupport
import Testing
import Timeline

@testable import OpsService

/// The state of a device in a service.
@Suite("Time travel over HTTP", .tags(.database), .timeLimit(.minutes(2))) struct StateRoutesTests {
    private static let path = "/v1/devices/d1/state"
    private static let partition = AggregateKey.device("d1").partition(of: OpsFixture.partitions)

    /// Runs a body with a registered device with an installed app, and with events of several services.
    private func withHistory(_ body: @Sendable @escaping (OpsFixture) async throws -> Void) async throws {
        try await OpsFixture.run { fixture in
            try await fixture.append(to: "d1")
            let registered = LifecycleEvent.DeviceRegistered(registration: Registration(profile: .ios18))
            try await fixture.append(type(of: registered).type, to: "d1", data: registered.text)
            try await fixture.append(to: "d1")
            let installed = LifecycleEvent.AppInstalled(app: "mail", manifest: Manifest())
            try await fixture.append(type(of: installed).type, to: "d1", app: "mail", data: installed.text)
            try await body(fixture)
        }
    }

    @Test func `a state is the fold of the events up to the requested time`() async throws {
        try await withHistory { fixture in
            let now = try await fixture.get(Self.path + "?service=lifecycle")
            #expect(now.status == 200 && now.json["events"]?.int == 2)
            #expect(now.json["position"]?.string == "\(Self.partition):4")
            #expect(now.json["state"]?["apps"]?["mail"] != nil)
            #expect(now.json["state"]?["registration"]?["profile"] == "ios18")
            for (offset, events) in [(2, 1), (3, 1), (4, 2), (900, 2)] {
                let then = try await fixture.get(Self.path + "?service=lifecycle&at=\(Self.partition):\(offset)")
                #expect(then.status == 200 && then.json["events"]?.int == events)
                #expect((then.json["state"]?["apps"]?["mail"] != nil) == (events == 2))
            }
            let time = try #require(now.json["time"]?.string)
            #expect(try await fixture.get(Self.path + "?service=lifecycle&at=\(time)").json == now.json)
        }
    }

    @Test func `a device is not found before its first event`() async throws {
        try await withHistory { fixture in
            for path in [
                Self.path + "?service=lifecycle&at=\(Self.partition):1", Self.path + "?service=push",
                Self.path + "?service=lifecycle&at=1999-01-01T00:00:00.000Z", "/v1/devices/d2/state?service=lifecycle",
            ] {
                let answer = try await fixture.get(path)
                #expect(answer.status == 404 && answer.code == "not_found", "\(path)")
            }
        }
    }

    @Test func `a dropped time gets 410 with the earliest available time`() async throws {
        try await withHistory { fixture in
            try await fixture.sql("DELETE FROM bus.events WHERE log_offset <= 2 AND partition = \(Self.partition)")
            var state = LifecycleMachine()
            let registered = LifecycleEvent.DeviceRegistered(registration: Registration(profile: .ios18))
            let event = try LifecycleMachine.OwnEvent(
                type: type(of: registered).type, version: 1, data: registered.jsonBytes)
            state.apply(event, at: .epoch)
            let binary = state.binary.map { String(format: "%02x", $0) }.joined()
            try await fixture.sql(
                """
                INSERT INTO bus.snapshots
                    (partition, key, service, log_offset, machine_version, state, event_count, decided_at, is_base)
                VALUES (\(Self.partition), 'device:d1', 'lifecycle', 2, \(LifecycleMachine.version), '\\x\(binary)', 1, 0, true)
                """)
            let now = try await fixture.get(Self.path + "?service=lifecycle")
            #expect(now.status == 200 && now.json["events"]?.int == 2)
            let gone = try await fixture.get(Self.path + "?service=lifecycle&at=\(Self.partition):1")
            #expect(gone.status == 410 && gone.code == "beyond_retention" && gone.faults == ["/at"])
            #expect(gone.json["detail"]?.string?.contains("1970-01-01T00:00:00.000Z") == true)
        }
    }

    @Test(arguments: [
        ("", ["/service"]), ("?service=ops", ["/service"]), ("?service=lifecycle&at=yesterday", ["/at"]),
        ("?at=1:2:3", ["/at", "/service"]), ("?service=lifecycle&when=1", ["/when"]),
    ])
    func `invalid queries are refused`(query: String, faults: [String]) async throws {
        try await withHistory { fixture in
            let answer = try await fixture.get(Self.path + query)
            #expect(answer.status == 400 && answer.code == "invalid_query" && answer.faults.sorted() == faults)
            let other = (Self.partition + 1) % OpsFixture.partitions
            #expect(try await fixture.get(Self.path + "?service=lifecycle&at=\(other):1").faults == ["/at"])
            #expect(try await fixture.get(Self.path + "?service=lifecycle", key: OpsFixture.otherKey).status == 403)
        }
    }
}

extension EventData {
    fileprivate var text: String { String(decoding: jsonBytes, as: UTF8.self) }
}
