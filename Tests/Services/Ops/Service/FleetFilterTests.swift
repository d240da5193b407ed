import Contracts
import EventLog
import Foundation
import HTTPKit
import Postgres
import Records
import TestSupport
import Testing

@testable import OpsService

@Suite("The filter by fleet", .tags(.database), .timeLimit(.minutes(5))) struct FleetFilterTests {
    /// Appends the life of a device that moves from `blue` to `red`, and of one that stays in `blue`.
    private func appendLives(_ fixture: OpsFixture) async throws {
        for (device, type, fleet) in [
            ("mover", "registered", "blue"), ("stayer", "registered", "blue"), ("loner", "registered", nil),
            ("mover", nil, nil), ("stayer", nil, nil), ("mover", "updated", "red"), ("mover", nil, nil),
            ("loner", nil, nil), ("stayer", "deregistered", nil), ("stayer", nil, nil),
        ] as [(String, String?, String?)] {
            guard let type else {
                try await fixture.append("push.notification.delivered", to: device, data: #"{"status":"Delivered"}"#)
                continue
            }
            let member = fleet.map { #","fleet":"\#($0)""# } ?? ""
            let data = type == "deregistered" ? "{}" : #"{"registration":{"profile":"ios18"\#(member)}}"#
            try await fixture.append("lifecycle.device.\(type)", to: device, data: data)
        }
    }

    @Test func `the feed of a fleet has the events of the devices that are or were in it`() async throws {
        try await OpsFixture.run { fixture in
            try await appendLives(fixture)
            // The list counts the events first.
            for (fleet, mover, stayer) in [("blue", 4, 4), ("red", 4, 0), ("green", 0, 0)] {
                let events = try await fixture.get("/v1/events?fleet=\(fleet)&limit=1000").items
                let devices = events.map { $0["subject"]?.string ?? "" }
                #expect(devices.count { $0.contains("mover") } == mover, "\(fleet)")
                #expect(devices.count { $0.contains("stayer") } == stayer, "\(fleet)")
                #expect(devices.count == mover + stayer, "\(fleet)")
            }
            let some = try await fixture.get("/v1/events?fleet=blue&type=push.notification.delivered&device=mover")
            #expect(some.items.count == 2)
            #expect(try await fixture.get("/v1/events?fleet=a%20b").faults == ["/fleet"])
        }
    }

    @Test func `the stream of a fleet has the devices that join it while it is open`() async throws {
        try await OpsFixture.run { fixture in
            let blue = #"{"registration":{"profile":"ios18","fleet":"blue"}}"#
            try await fixture.append("lifecycle.device.registered", to: "first", data: blue)
            let start = try await fixture.tail.heads()
            let devices = try await OpsStore(pool: fixture.pool).currentDevices(of: "blue")
            var filter = EventFilter()
            filter.types = ["push.notification.delivered"]
            filter.members = OpsStore.devices(of: "blue")
            let feed = EventFeed(tail: fixture.tail, filter: filter, devices: devices, start: start)
            for device in ["stranger", "first"] { try await fixture.append("push.notification.delivered", to: device) }
            try await fixture.append("lifecycle.device.registered", to: "second", data: blue)
            try await fixture.append("push.notification.delivered", to: "second")
            var seen: [String] = []
            var events = feed.oneByOne()
            while seen.count < 2 {
                guard let data = try #require(try await events.next()).data else { continue }
                seen.append(try JSON(parsing: Array(data.utf8))["subject"]?.string ?? "")
            }
            #expect(seen.sorted() == ["device:first", "device:second"])
        }
    }

    @Test func `statistics of a fleet count each event to the fleet of its time, for any batches`() async throws {
        for size in [1, 2, 3, 100] {
            try await OpsFixture.run { fixture in
                try await appendLives(fixture)
                let count = Statement("SELECT ops.count_events(NULL, $1)")
                while try await fixture.pool.execute(Query(count, .int4(Int32(size))))[0].decode(Int.self, at: 0) > 0 {}
                // Blue: two registrations, two deliveries and a deregistration. Red: the move and a delivery.
                for (fleet, events, delivered, devices) in [("blue", 5, 2, 0), ("red", 2, 1, 1)] {
                    let stats = try await fixture.get("/v1/stats?fleet=\(fleet)").json
                    #expect(stats["events"]?.int == events, "\(fleet) \(size)")
                    #expect(stats["notifications"]?[0]?["count"]?.int == delivered, "\(fleet) \(size)")
                    #expect(stats["now"]?["devices"]?.int ?? 0 == devices, "\(fleet) \(size)")
                }
                #expect(try await fixture.get("/v1/stats").json["events"]?.int == 10)
            }
        }
    }
}
