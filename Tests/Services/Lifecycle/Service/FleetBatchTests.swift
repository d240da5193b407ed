import Contracts
import HTTPKit
import Identity
import LifecycleCore
import Machines
import NIOHTTP1
import Records
import TestSupport
import Testing

@testable import LifecycleService

@Suite("Batches of a fleet", .tags(.database), .timeLimit(.minutes(5))) struct FleetBatchTests {
    static let app = #"{"app":"news","launch":true,"manifest":{"backgroundModes":["fetch"]}}"#

    /// Returns the line that sets up a device with an app on screen.
    static func line(_ device: String, profile: String = "ios18", more: String = "") -> String {
        #"{"device":"\#(device)","registration":{"profile":"\#(profile)"},"apps":[\#(app)]\#(more)}"#
    }

    @Test func `a line registers a device with its apps and conditions, and the answer has its token`() async throws {
        try await LifecycleFixture.run { fixture in
            let conditions = #","conditions":{"battery":{"level":0.5}}"#
            let lines = (0..<300).map { Self.line("d\($0)", more: conditions) }
            let answer = try await fixture.batch("POST", "/v1/fleets/blue/devices", lines)
            #expect(answer.totals == ["failed": 0, "succeeded": 300])
            #expect(answer.lines.map { $0["line"]?.int } == (1...300).map { $0 })
            #expect(answer.lines.map { $0["device"]?.string } == (0..<300).map { "d\($0)" })
            #expect(answer.lines.allSatisfy { $0["status"]?.int == 201 })
            let token = try #require(answer.lines[7]["token"]?.string)
            let device = try await fixture.send("GET", "/v1/devices/d7", key: token)
            #expect(device["registration"]?["fleet"]?.string == "blue")
            #expect(device["conditions"]?["battery"]?["level"]?.double == 0.5)
            #expect(device["apps"]?["news"]?["state"]?.string == "active")
            #expect(device.headers.first(name: "ETag") == "\"\(answer.lines[7]["version"]?.int ?? 0)\"")
            let log = try await fixture.log(of: "d7").map(\.type)
            #expect(
                log == [
                    LifecycleEvent.DeviceRegistered.type, LifecycleEvent.AppInstalled.type,
                    LifecycleEvent.AppLaunched.type, LifecycleEvent.ConditionsChanged.type,
                ])
        }
    }

    @Test func `a faulty line changes nothing and leaves the other lines alone`() async throws {
        try await LifecycleFixture.run { fixture in
            _ = try await fixture.phone("stranger", fleet: "red")
            let old = #","conditions":{"lowPowerMode":true}"#
            let token = try await fixture.tokens.fleet("blue")
            let answer = try await fixture.batch(
                "POST", "/v1/fleets/blue/devices",
                [
                    Self.line("first"), "{", #"{"device":"a b","registration":{"profile":"ios18"}}"#,
                    #"{"device":"x","registration":{"profile":"ios99"}}"#,
                    #"{"device":"x","registration":{"profile":"ios18","fleet":"red"}}"#, "",
                    // The last part of the line is refused, so none has an effect.
                    Self.line("old", profile: "ios7", more: old), Self.line("stranger"), Self.line("last"),
                    "[" + String(repeating: " ", count: 70_000) + "]",
                ], key: token)
            #expect(
                answer.lines.map { "\($0["line"]?.int ?? 0) \($0["status"]?.int ?? 0) \($0["code"]?.string ?? "")" }
                    == [
                        "1 201 ", "2 400 malformed_json", "3 422 invalid_document", "4 422 invalid_document",
                        "5 422 invalid_document", "7 409 unsupported_on_profile", "8 404 not_found", "9 201 ",
                        "10 413 body_too_large",
                    ])
            #expect(answer.lines[2]["errors"]?[0]?["pointer"]?.string == "/device")
            #expect(answer.lines[5]["device"]?.string == "old")
            #expect(answer.totals == ["failed": 7, "succeeded": 2])
            #expect(try await fixture.log(of: "old").isEmpty)
            #expect(try await fixture.send("GET", "/v1/devices/stranger")["apps"]?["news"] == nil)
        }
    }

    @Test func `a repeated batch has no second effect and gets the first answers without tokens`() async throws {
        try await LifecycleFixture.run { fixture in
            let key = ["Idempotency-Key": "batch-1"]
            let lines = (0..<20).map { Self.line("d\($0)") }
            let first = try await fixture.batch("POST", "/v1/fleets/blue/devices", Array(lines[..<10]), key)
            // The first request ended in the middle. The repeated one has all lines.
            let again = try await fixture.batch("POST", "/v1/fleets/blue/devices", lines, key)
            #expect(again.totals == ["failed": 0, "succeeded": 20])
            for (former, repeated) in zip(first.lines, again.lines) {
                #expect(repeated["version"] == former["version"] && repeated["status"]?.int == 200)
                #expect(former["token"] != nil && repeated["token"] == nil)
            }
            #expect(again.lines[10...].allSatisfy { $0["token"] != nil })
            #expect(try await fixture.log(of: "d3").count == 3)
            let other = [Self.line("d0", more: #","conditions":{"locked":true}"#)]
            let conflict = try await fixture.batch("POST", "/v1/fleets/blue/devices", other, key)
            #expect(conflict.lines[0]["code"]?.string == "idempotency_conflict")
            // Without a key, an equal setup changes nothing.
            let anew = try await fixture.batch("POST", "/v1/fleets/blue/devices", lines)
            #expect(anew.lines.map { $0["version"] } == again.lines.map { $0["version"] })
        }
    }

    @Test func `lines about one device take effect in their order`() async throws {
        try await LifecycleFixture.run { fixture in
            for device in ["a", "b"] { _ = try await fixture.phone(device, fleet: "blue") }
            let lines = (1...100).flatMap { step in
                ["a", "b"].map { #"{"device":"\#($0)","conditions":{"battery":{"level":\#(Double(step) / 100)}}}"# }
            }
            let answer = try await fixture.batch("PATCH", "/v1/fleets/blue/conditions", lines)
            #expect(answer.totals == ["failed": 0, "succeeded": 200])
            for device in ["a", "b"] {
                let levels = try await fixture.log(of: device).filter {
                    $0.type == LifecycleEvent.ConditionsChanged.type
                }
                .map { try JSON(parsing: $0.data)["conditions"]?["battery"]?["level"]?.double ?? -1 }
                #expect(levels == levels.sorted() && levels.last == 1)
            }
        }
    }

    @Test func `conditions without lines are those of every device of the fleet`() async throws {
        try await LifecycleFixture.run { fixture in
            let devices = (0..<40).map { "d\($0)" }
            try await fixture.atOnce(devices) { device in
                _ = try await fixture.phone(device, fleet: device.hasSuffix("7") ? "red" : "blue")
            }
            let sent = try await fixture.send("PATCH", "/v1/fleets/blue/conditions", #"{"network":{"kind":"none"}}"#)
            let answer = try LifecycleFixture.Batch(sent)
            #expect(answer.totals == ["failed": 0, "succeeded": 36])
            #expect(Set(answer.lines.compactMap { $0["device"]?.string }).count == 36)
            #expect(answer.lines.allSatisfy { $0["line"] == nil })
            for (device, kind) in [("d1", "none"), ("d7", "wifi")] {
                let state = try await fixture.send("GET", "/v1/devices/\(device)")
                #expect(state["conditions"]?["network"]?["kind"]?.string == kind)
            }
            let wrong = try await fixture.send("PATCH", "/v1/fleets/blue/conditions", #"{"battery":{"level":2}}"#)
            #expect(wrong.code == "invalid_document")
        }
    }

    @Test func `only its own token and operators change a fleet`() async throws {
        try await LifecycleFixture.run { fixture in
            let device = try await fixture.phone("d1", fleet: "blue")
            for (method, path) in [("POST", "/v1/fleets/blue/devices"), ("PATCH", "/v1/fleets/blue/conditions")] {
                for (key, code) in [
                    (device, "not_found"), (try await fixture.tokens.fleet("red"), "not_found"),
                    (LifecycleFixture.readerKey, "forbidden"),
                ] {
                    #expect(try await fixture.send(method, path, "{}", key: key).code == code)
                }
                #expect(try await fixture.send(method, path, "x", type: "text/csv").code == "unsupported_media_type")
            }
        }
    }

    @Test func `a batch has a most number of lines`() async throws {
        try await LifecycleFixture.run { fixture in
            let lines = Array(repeating: "{}", count: LineBatches.limit + 5)
            let answer = try await fixture.batch("POST", "/v1/fleets/blue/devices", lines)
            #expect(answer.lines.count == LineBatches.limit + 1)
            let last = try #require(answer.lines.last)
            #expect(last["line"]?.int == LineBatches.limit + 1 && last["code"]?.string == "body_too_large")
        }
    }
}

extension LifecycleFixture {
    /// The answer to a batch.
    struct Batch {
        let lines: [JSON]
        let totals: JSON

        init(_ answer: Answer) throws {
            try #require(answer.status == 200, "\(answer.body)")
            let all = try answer.body.split(separator: "\n").map { try JSON(parsing: Array($0.utf8)) }
            (lines, totals) = (all.dropLast(), try #require(all.last))
        }
    }

    func batch(
        _ method: String, _ path: String, _ lines: [String], _ headers: [String: String] = [:],
        key: String? = operatorKey
    ) async throws -> Batch {
        let body = lines.joined(separator: "\n")
        return try Batch(try await send(method, path, body, headers, key: key, type: LineBatches.mediaType))
    }
}
