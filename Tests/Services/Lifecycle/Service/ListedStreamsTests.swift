import AsyncHTTPClient
import Contracts
import EventLog
import Postgres
import TestSupport
import Testing

@testable import LifecycleService

@Suite("Listed order streams", .tags(.database), .timeLimit(.minutes(5))) struct ListedStreamsTests {
    @Test func `a stream of orders is listed while it is open, if time is virtual`() async throws {
        try await LifecycleFixture.run(virtual: true) { fixture in
            _ = try await fixture.phone("d1", fleet: "blue")
            let store = OrderStreamStore(pool: fixture.pool)
            let device = OrderStreamStore.Subject.device(.device("d1"))
            // The stream closes with the client, at the end of the scope.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for path in ["/v1/devices/d1/orders", "/v1/fleets/blue/orders"] {
                    group.addTask {
                        var stream = try await OrderStream(fixture, path)
                        while try await stream.next() != nil {}
                    }
                }
                try await eventually(describe: "both streams are listed") {
                    try await store.open() == [device, .fleet("blue")]
                }
                group.cancelAll()
            }
            try await eventually(describe: "no stream is listed") { try await store.open().isEmpty }
            _ = try await fixture.send("GET", "/v1/devices/d1/orders?wait=0")
            #expect(try await store.open() == [device])
        }
    }

    @Test func `no stream is listed in real time`() async throws {
        try await LifecycleFixture.run { fixture in
            _ = try await fixture.phone("d1")
            let stream = try await OrderStream(fixture, "/v1/devices/d1/orders")
            #expect(try await OrderStreamStore(pool: fixture.pool).open().isEmpty)
            withExtendedLifetime(stream) {}
        }
    }
}
