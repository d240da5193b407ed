import Contracts
import Records
import TestSupport
import Testing

@testable import OpsService

/// Requests with unknown names get an error instead of an empty answer.
@Suite("Unknown names", .tags(.database), .timeLimit(.minutes(2))) struct UnknownNamesTests {
    @Test(arguments: ["/v1/events", "/v1/events/stream"])
    func `an unknown event type is refused with the nearest known ones`(_ path: String) async throws {
        try await OpsFixture.run { fixture in
            for (wrong, right) in [
                ("lifecycle.app.termnated", "lifecycle.app.terminated"), ("app.terminated", "lifecycle.app.terminated"),
                ("Lifecycle.App.Woken", "lifecycle.app.woken"),
                ("push.notification.recieved", "push.notification.received"),
            ] {
                let answer = try await fixture.get(path + "?type=lifecycle.app.woken,\(wrong)")
                #expect(answer.status == 400 && answer.code == "invalid_query" && answer.faults == ["/type"])
                let detail = answer.json["errors"]?.items?.first?["detail"]?.string ?? ""
                #expect(detail.hasPrefix("\(wrong) is not an event type") && detail.contains(right), "\(detail)")
            }
        }
    }

    @Test func `every type of the catalogues is known`() async throws {
        try await OpsFixture.run { fixture in
            let types =
                LifecycleEvent.catalogue.map(\.type) + FetchEvent.catalogue.map(\.type)
                + PushEvent.catalogue.map(\.type) + TransferEvent.catalogue.map(\.type)
            for type in types {
                let answer = try await fixture.get("/v1/events?type=\(type)")
                #expect(answer.status == 200, "\(type)")
            }
        }
    }

    @Test(arguments: ["/v1/events", "/v1/events/stream", "/v1/dead-letters"])
    func `an unknown service is refused with the names of all`(_ path: String) async throws {
        try await OpsFixture.run { fixture in
            let answer = try await fixture.get(path + "?service=lifecicle")
            #expect(answer.status == 400 && answer.faults == ["/service"])
            let detail = answer.json["errors"]?.items?.first?["detail"]?.string ?? ""
            for name in ["lifecycle", "fetch", "push", "transfer"] { #expect(detail.contains(name)) }
        }
    }

    @Test func `a device that the log does not know has no events and no timeline`() async throws {
        try await OpsFixture.run { fixture in
            try await fixture.append(to: "phone")
            for path in ["/v1/devices/nobody/timeline", "/v1/events?device=nobody"] {
                let answer = try await fixture.get(path)
                #expect(answer.status == 404 && answer.code == "not_found", "\(path)")
                #expect(answer.json["detail"]?.string?.contains("nobody") == true)
            }
            // The device exists, but none of its events match.
            #expect(try await fixture.get("/v1/devices/phone/timeline?type=fetch.task.due").status == 200)
            #expect(try await fixture.get("/v1/events?device=phone&app=none").status == 200)
        }
    }

    @Test func `a device is known although retention dropped its events`() async throws {
        try await OpsFixture.run { fixture in
            try await fixture.append(to: "phone")
            let partition = AggregateKey.device("phone").partition(of: OpsFixture.partitions)
            try await fixture.sql(
                """
                INSERT INTO bus.snapshots
                    (partition, key, service, log_offset, machine_version, state, event_count, decided_at, is_base)
                VALUES (\(partition), 'device:phone', 'lifecycle', 1, 1, '\\x00', 1, 0, true)
                """)
            try await fixture.sql("DELETE FROM bus.events")
            #expect(try await fixture.get("/v1/devices/phone/timeline").status == 200)
        }
    }

    /// The device may register at any time.
    @Test func `the stream accepts a device that is not registered yet`() async throws {
        try await OpsFixture.run { fixture in
            let (events, _) = try await fixture.follow("/v1/events/stream?device=later", 1) {
                try await fixture.append(to: "later")
            }
            #expect(events.first?["subject"] == "device:later")
        }
    }

    /// Bundle identifiers and fleets are not registered: only the log shows that no device has one.
    @Test(arguments: ["/v1/events?app=com.example.none", "/v1/devices?fleet=none", "/v1/devices?prefix=none"])
    func `an unknown app or fleet has an empty list`(_ path: String) async throws {
        try await OpsFixture.run { fixture in
            let answer = try await fixture.get(path)
            #expect(answer.status == 200 && answer.items.isEmpty)
        }
    }
}
