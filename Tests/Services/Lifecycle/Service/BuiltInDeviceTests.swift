import Contracts
import EventLog
import Foundation
import LifecycleCore
import Machines
import Postgres
import Records
import ServiceKit
import TestSupport
import Testing
import Timeline

@testable import LifecycleService

@Suite("Built-in devices over HTTP", .tags(.database), .timeLimit(.minutes(5))) struct BuiltInDeviceTests {
    private static let registration = #"{"profile":"ios15","simulate":{"answers":{"after":4,"result":"noData"}}}"#

    @Test func `a built-in device completes a wake in virtual time without a client`() async throws {
        try await LifecycleFixture.run(virtual: true) { fixture in
            try await fixture.builtIn("d1")
            _ = try await fixture.clock.advance(by: .seconds(10))
            let completed = try #require(try await fixture.log(of: "d1").last { $0.type == "lifecycle.wake.completed" })
            let data = try LifecycleEvent.WakeCompleted(jsonBytes: completed.data)
            #expect(data.result == .noData)
            let woken = try #require(try await fixture.log(of: "d1").last { $0.type == "lifecycle.app.woken" })
            #expect(completed.time == woken.time + .seconds(4))
        }
    }

    @Test func `a client takes a built-in device over while its stream of orders is open`() async throws {
        try await LifecycleFixture.run(virtual: true) { fixture in
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await fixture.send("PUT", "/v1/devices/d1", Self.registration)
                group.addTask {
                    var stream = try await OrderStream(fixture, "/v1/devices/d1/orders")
                    while try await stream.next() != nil {}
                }
                try await fixture.untilClient(isThere: true)
                try await fixture.builtIn("d1")
                _ = try await fixture.clock.advance(by: .seconds(10))
                #expect(try await !fixture.log(of: "d1").contains { $0.type == "lifecycle.wake.completed" })
                group.cancelAll()
            }
            try await fixture.untilClient(isThere: false)
            _ = try await fixture.clock.advance(by: .seconds(10))
            #expect(try await fixture.log(of: "d1").contains { $0.type == "lifecycle.wake.completed" })
        }
    }

    @Test func `a device whose client is lost with its process is given back`() async throws {
        try await LifecycleFixture.run(virtual: true) { fixture in
            try await fixture.builtIn("d1")
            let stream = UUID.random()
            // A process took the device over, and its lease has expired.
            try await OrderStreamStore(pool: fixture.pool).add(
                stream, of: .device(.device("d1")), holder: UUID(), lease: .seconds(-1))
            try await fixture.routes.commands.submit(
                .takeOver(client: stream.lowercased), to: .device("d1"), origin: Origin(id: UUID.random()))
            try await fixture.untilClient(isThere: false)
        }
    }

    @Test(arguments: [
        (#"{"answers":{"after":-1}}"#, "/simulate/answers/after"),
        (#"{"answers":{"after":3601}}"#, "/simulate/answers/after"),
        (#"{"answers":{"result":"maybe"}}"#, "/simulate/answers/result"), (#"{"opens":"often"}"#, "/simulate/opens"),
        (#"{"answers":{"by":"nobody"}}"#, "/simulate/answers/by"),
        (#"{"transfers":{"rates":{"wifi":0}}}"#, "/simulate/transfers/rates/wifi"),
        (#"{"transfers":{"rates":{"cable":1}}}"#, "/simulate/transfers/rates/cable"),
        (#"{"transfers":{"servers":[{"url":""}]}}"#, "/simulate/transfers/servers/0/url"),
        (#"{"transfers":{"servers":[{"url":"http://","failures":1.5}]}}"#, "/simulate/transfers/servers/0/failures"),
        (#"{"online":1}"#, "/simulate/online"), (#"{"transfers":{"bytes":-1}}"#, "/simulate/transfers/bytes"),
    ]) func `an invalid behaviour is refused and registers nothing`(_ simulate: String, _ pointer: String) async throws
    {
        try await LifecycleFixture.run { fixture in
            let answer = try await fixture.send(
                "PUT", "/v1/devices/d1", #"{"profile":"ios15","simulate":\#(simulate)}"#)
            #expect(answer.status == 422)
            #expect(answer.json["errors"]?.items?.compactMap { $0["pointer"]?.string } == [pointer])
            #expect(try await fixture.log(of: "d1").isEmpty)
        }
    }
}

extension LifecycleFixture {
    /// Registers a built-in device with a suspended app, and requests a refresh.
    fileprivate func builtIn(_ device: String) async throws {
        let registration = #"{"profile":"ios15","simulate":{"answers":{"after":4,"result":"noData"}}}"#
        try await send("PUT", "/v1/devices/\(device)", registration)
        try await send("PUT", "/v1/devices/\(device)/apps/a", #"{"backgroundModes":["fetch"]}"#)
        try await transition(device, "launch")
        try await transition(device, "home")
        try await append(FetchEvent.RefreshDue(app: "a", fetch: "f-1"), to: device, at: try await clock.read().now)
        try await eventually(describe: "the wake") {
            try await log(of: device).contains { $0.type == "lifecycle.app.woken" }
        }
    }

    fileprivate func untilClient(isThere: Bool) async throws {
        try await eventually(within: 30, describe: isThere ? "a client" : "no client") {
            let client = try await send("GET", "/v1/devices/d1").json["client"]?.string
            return (client != nil) == isThere
        }
    }
}
