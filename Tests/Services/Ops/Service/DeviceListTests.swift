import Foundation
import Records
import TestSupport
import Testing

@testable import OpsService

/// The list of devices.
@Suite("Devices over HTTP", .tags(.database), .timeLimit(.minutes(2))) struct DeviceListTests {
    @Test func `devices are listed by name in pages`() async throws {
        try await OpsFixture.run { fixture in
            for number in 0..<25 {
                let fleet = number.isMultiple(of: 5) ? #","fleet":"lab""# : ""
                try await fixture.append(
                    "lifecycle.device.registered", to: "d\(number)",
                    data: #"{"registration":{"profile":"ios18"\#(fleet)}}"#)
            }
            try await fixture.append(
                "lifecycle.device.registered", to: "tablet", data: #"{"registration":{"profile":"ios6"}}"#)
            for app in ["web", "mail"] { try await fixture.append("lifecycle.app.installed", to: "tablet", app: app) }
            try await fixture.append(
                "lifecycle.app.suspended", to: "tablet", app: "web", data: #"{"state":"suspended"}"#)
            try await fixture.append("lifecycle.device.powered", to: "d3", data: #"{"power":"off"}"#)
            try await fixture.count()

            var names: [String] = []
            var cursor = ""
            repeat {
                let page = try await fixture.get("/v1/devices?limit=10" + cursor).json
                names += (page["items"]?.items ?? []).compactMap { $0["device"]?.string }
                cursor = page["next"]?.string.map { "&cursor=\($0)" } ?? ""
            } while !cursor.isEmpty
            #expect(names == ((0..<25).map { "d\($0)" } + ["tablet"]).sorted())

            let tablet = try #require(try await fixture.get("/v1/devices?prefix=ta").items.first)
            #expect(tablet["profile"] == "ios6" && tablet["fleet"] == .null && tablet["powered"] == true)
            let apps = (tablet["apps"]?.items ?? []).map { "\($0["app"]?.string ?? "") \($0["state"]?.string ?? "")" }
            #expect(apps == ["mail notRunning", "web suspended"])
            #expect(try await fixture.get("/v1/devices?prefix=d3").items.map { $0["powered"] } == [false])
            #expect(try await fixture.get("/v1/devices?fleet=lab&prefix=d1").items.count == 2)
            for (filter, count) in [
                ("profile=ios6", 1), ("profile=ios18", 25), ("power=off", 1), ("power=on", 25), ("state=suspended", 1),
                ("state=notRunning", 1), ("state=active", 0), ("profile=ios18&power=off&fleet=lab", 0),
            ] {
                #expect(try await fixture.get("/v1/devices?\(filter)").items.count == count, "\(filter)")
            }
            let fleets = try await fixture.get("/v1/fleets").items
            #expect(fleets == [["devices": 5, "fleet": "lab"]])
            #expect(try await fixture.get("/v1/devices?state=asleep&power=1").faults == ["/state", "/power"])
            #expect(try await fixture.get("/v1/devices?prefix=%25").faults == ["/prefix"])
            #expect(try await fixture.get("/v1/devices?limit=0&page=2").faults.sorted() == ["/limit", "/page"])
            #expect(try await fixture.get("/v1/devices", key: OpsFixture.otherKey).status == 403)
        }
    }

    @Test func `fleets are listed in pages`() async throws {
        try await OpsFixture.run { fixture in
            for (device, fleet) in [("d1", "red"), ("d2", "blue"), ("d3", "red"), ("d4", "Zoo")] {
                try await fixture.append(
                    "lifecycle.device.registered", to: device,
                    data: #"{"registration":{"profile":"ios18","fleet":"\#(fleet)"}}"#)
            }
            try await fixture.count()
            let first = try await fixture.get("/v1/fleets?limit=2").json
            #expect(first["items"]?.items == [["devices": 1, "fleet": "Zoo"], ["devices": 1, "fleet": "blue"]])
            #expect(first["next"] == "blue")
            let last = try await fixture.get("/v1/fleets?limit=2&cursor=blue").json
            #expect(last["items"]?.items == [["devices": 2, "fleet": "red"]])
            #expect(last["next"] == nil || last["next"] == .null)
            #expect(try await fixture.get("/v1/fleets?limit=0&page=2").faults.sorted() == ["/limit", "/page"])
        }
    }

    @Test func `two names that are one text in two forms of Unicode are two devices`() async throws {
        try await OpsFixture.run { fixture in
            for device in ["caf\u{E9}", "cafe\u{301}"] {
                try await fixture.append(
                    "lifecycle.device.registered", to: device, data: #"{"registration":{"profile":"ios18"}}"#)
            }
            try await fixture.count()
            let list = try await fixture.get("/v1/devices")
            #expect(list.status == 200 && list.items.count == 2)
        }
    }
}
