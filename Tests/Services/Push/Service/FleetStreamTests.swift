import AsyncHTTPClient
import Contracts
import Foundation
import HTTPKit
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

@testable import PushService

@Suite("The stream of a fleet", .tags(.database, .processes, .stockClient), .timeLimit(.minutes(4)))
struct FleetStreamTests {
    private static let path = "/v1/fleets/blue/notifications/stream"

    @Test func `one stream connects all devices of a fleet and has their notifications`() async throws {
        try await PushSuite.run { suite in
            var tokens: [String: String] = [:]
            for device in ["a", "b", "c"] { tokens[device] = try await suite.makeDevice(device, fleet: "blue") }
            tokens["stranger"] = try await suite.makeDevice("stranger", fleet: "red")
            var stream = try await DeviceStream(suite, path: Self.path)
            for device in ["a", "b", "c"] { #expect(try await suite.isOnline(device)) }
            #expect(try await !suite.isOnline("stranger"))
            for device in ["stranger", "a", "b", "c"] {
                let answer = try await suite.notify(try #require(tokens[device]), ["aps": ["alert": "x"]])
                #expect(answer.status == 200)
            }
            var seen: [String: String] = [:]
            for _ in 0..<3 {
                let next = try #require(try await stream.next())
                #expect(next["fromStorage"]?.bool == false)
                seen[next["device"]?.string ?? ""] = next["id"]?.string
            }
            #expect(seen.keys.sorted() == ["a", "b", "c"])
            try await eventually(describe: "each delivery has a delay in the metrics") {
                let metrics = try await suite.text("/metrics")
                return metrics.contains("dormouse_push_delivery_seconds_count 3\n")
            }
            let lines = seen.sorted { $0.key < $1.key }.map {
                #"{"device":"\#($0.key)","notification":"\#($0.value)"}"#
            }
            let faulty = #"{"device":"stranger","notification":"x"}"#
            let answer = try await suite.acknowledge(lines + [faulty])
            #expect(answer.map { $0["status"]?.int } == [200, 200, 200, 404, nil])
            for id in seen.values {
                let statuses = try await suite.send("GET", "/v1/notifications/\(id)").json["statuses"]?.items ?? []
                #expect(statuses.last?["status"]?.string == "Acknowledged")
            }
        }
    }

    @Test func `a device that joins, or gets a network, is connected while the stream is open`() async throws {
        try await PushSuite.run { suite in
            _ = try await suite.makeDevice("first", fleet: "blue")
            let offline: JSON = ["network": ["kind": "none"]]
            _ = try await suite.send("PATCH", "/v1/devices/first/conditions", offline, port: suite.lifecycle)
            var stream = try await DeviceStream(suite, path: Self.path)
            let token = try await suite.makeDevice("second", fleet: "blue")
            try await eventually(describe: "the new device is online") { try await suite.isOnline("second") }
            let id = try await suite.notify(token, ["aps": ["alert": "x"]]).headers["apns-unique-id"]
            #expect(try await stream.next()?["id"]?.string == id)
            #expect(try await !suite.isOnline("first"))
            let online: JSON = ["network": ["kind": "wifi"]]
            _ = try await suite.send("PATCH", "/v1/devices/first/conditions", online, port: suite.lifecycle)
            try await eventually(describe: "the device is online again") { try await suite.isOnline("first") }
            _ = try await suite.send("PUT", "/v1/devices/first", ["profile": "ios18"], port: suite.lifecycle)
            try await eventually(describe: "a device that left is offline") { try await !suite.isOnline("first") }
            _ = stream
        }
    }

    @Test func `a client takes over a device by its own stream and gives it back`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("phone", fleet: "blue")
            var fleet = try await DeviceStream(suite, path: Self.path)
            let device = try ChildProcess.start(
                "/usr/bin/curl",
                ["--silent", "--no-buffer", "http://127.0.0.1:\(suite.push)/v1/devices/phone/notifications"])
            let kinds =
                "SELECT data ->> 'kind' FROM bus.events WHERE type = 'push.device.connected' ORDER BY log_offset"
            let database = try Database(suite)
            try await eventually(describe: "the device has its own stream") {
                try await database.texts(kinds) == ["fleet", "stream"]
            }
            let taken = try await suite.notify(token, ["aps": ["alert": "own"]]).headers["apns-unique-id"]
            device.signal(SIGKILL)
            try await eventually(describe: "the stream of the fleet has the device again") {
                try await database.texts(kinds) == ["fleet", "stream", "fleet"]
            }
            // The killed client has not acknowledged its notification.
            let next = try #require(try await fleet.next())
            #expect(next["id"]?.string == taken && next["fromStorage"]?.bool == true)
        }
    }

    @Test func `a stream resumes after Last-Event-ID, and its end disconnects the devices`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("phone", fleet: "blue")
            let database = try Database(suite)
            let rows = "SELECT count(*)::text FROM push.connections"
            var last = ""
            do {
                var stream = try await DeviceStream(suite, path: Self.path)
                _ = try await suite.notify(token, ["aps": ["alert": "1"]])
                #expect(try await stream.next()?["payload"]?["aps"]?["alert"]?.string == "1")
                last = stream.id
                #expect(try await database.texts(rows) == ["1"])
            }
            try await eventually(describe: "the device is offline") { try await !suite.isOnline("phone") }
            try await eventually(describe: "its row is deleted") { try await database.texts(rows) == ["0"] }
            _ = try await suite.notify(token, ["aps": ["alert": "2"]])
            var stream = try await DeviceStream(suite, path: Self.path, ["Last-Event-ID": last])
            // The first one was not acknowledged; only the latest notification of an app is stored.
            #expect(try await stream.next()?["payload"]?["aps"]?["alert"]?.string == "2")
        }
    }
}

extension PushSuite {
    /// Makes a device of a fleet.
    func makeDevice(_ device: String, fleet: String) async throws -> String {
        let registration: JSON = ["profile": "ios18", "fleet": .string(fleet)]
        _ = try await send("PUT", "/v1/devices/\(device)", registration, port: lifecycle)
        let manifest: JSON = ["backgroundModes": ["remote-notification"], "notificationAuthorization": "authorized"]
        _ = try await send("PUT", "/v1/devices/\(device)/apps/\(Self.app)", manifest, port: lifecycle)
        return try await whileOnScreen(device) { [self] in
            let path = "/v1/devices/\(device)/apps/\(Self.app)/registration"
            return try #require(try await send("PUT", path, ["environment": "sandbox"]).json["token"]?.string)
        }
    }

    /// Acknowledges notifications by lines, and returns the lines of the answer.
    fileprivate func acknowledge(_ lines: [String]) async throws -> [JSON] {
        var request = request("POST", "/v1/fleets/blue/notifications/ack")
        request.body = .bytes(ByteBuffer(string: lines.joined(separator: "\n")))
        request.headers.add(name: "Content-Type", value: LineBatches.mediaType)
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        let text = String(buffer: try await response.body.collect(upTo: 1 << 20))
        return try text.split(separator: "\n").map { try JSON(parsing: Array($0.utf8)) }
    }
}
