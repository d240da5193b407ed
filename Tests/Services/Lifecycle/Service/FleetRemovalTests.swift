import HTTPKit
import Identity
import Records
import TestSupport
import Testing

@testable import LifecycleService

@Suite("The removal of a fleet", .tags(.database), .timeLimit(.minutes(5))) struct FleetRemovalTests {
    @Test func `the removal of a fleet deregisters its devices and no others`() async throws {
        try await LifecycleFixture.run { fixture in
            let lines = (0..<300).map { FleetBatchTests.line("d\($0)") }
            let answer = try await fixture.batch("POST", "/v1/fleets/blue/devices", lines)
            _ = try await fixture.phone("stranger", fleet: "red")
            let token = try #require(answer.lines[0]["token"]?.string)
            let partial = try await fixture.send("DELETE", "/v1/fleets/blue?wait=0")
            let removed = try #require(partial["removed"]?.int)
            #expect(partial.status == 202 && removed > 0 && partial["left"]?.int == 300 - removed)
            let rest = try await fixture.send("DELETE", "/v1/fleets/blue", key: try await fixture.tokens.fleet("blue"))
            #expect(rest.status == 200 && rest["removed"]?.int == 300 - removed && rest["left"]?.int == 0)
            #expect(try await fixture.send("GET", "/v1/devices/d299").code == "device_not_registered")
            #expect(try await fixture.send("GET", "/v1/devices/stranger").status == 200)
            try await eventually(describe: "the token is refused") {
                try await fixture.send("GET", "/v1/devices/d0", key: token).code == "invalid_credential"
            }
            let again = try await fixture.send("DELETE", "/v1/fleets/blue")
            #expect(again.status == 200 && again["removed"]?.int == 0)
        }
    }

    @Test func `only its own token and operators remove a fleet`() async throws {
        try await LifecycleFixture.run { fixture in
            let device = try await fixture.phone("d1", fleet: "blue")
            for (key, code) in [
                (device, "not_found"), (try await fixture.tokens.fleet("red"), "not_found"),
                (LifecycleFixture.readerKey, "forbidden"),
            ] {
                #expect(try await fixture.send("DELETE", "/v1/fleets/blue", key: key).code == code)
            }
            #expect(try await fixture.send("GET", "/v1/devices/d1").status == 200)
        }
    }
}
