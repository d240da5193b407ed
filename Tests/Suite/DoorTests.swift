import NIOHTTP1
import Records
import TestSupport
import Testing

/// The authentication of all services, with real processes and roles.
@Suite("Authentication across services", .tags(.database, .processes), .timeLimit(.minutes(6))) struct DoorTests {
    @Test func `every service refuses a rotated token, also after restarts and in frozen time`() async throws {
        let suite = try await RunningSuite.start(virtualTime: true)
        // Virtual time is frozen, so both tokens have the same time.
        _ = try await suite.call(.PUT, .ops, "/v1/clock", ["frozen": true])
        let device = "/v1/devices/phone"
        let app = device + "/apps/news"
        let made = try await suite.call(.PUT, .lifecycle, device, ["profile": "ios15"])
        let old = try #require(made.json["token"]?.string)
        let installed = try await suite.call(.PUT, .lifecycle, app, [:], as: old)
        let places: [(SuiteService, String)] = [
            (.lifecycle, app), (.fetch, app + "/forecast"), (.push, app + "/explain"),
            (.transfer, app + "/sessions"),
        ]
        for (service, path) in places { try await suite.call(.GET, service, path, as: old, after: installed.position) }
        let stream = try await suite.stream(.push, device + "/notifications", as: old)

        let rotated = try await suite.call(.POST, .lifecycle, device + "/token", as: old)
        let new = try #require(rotated.json["token"]?.string)
        for (service, path) in places {
            try await eventually(describe: "\(service) refuses the old token") {
                try await suite.send(.GET, service, path, as: old).status == 401
            }
            try await suite.call(.GET, service, path, as: new)
        }
        try await stream.waitForEnd("the stream under the old token has ended")
        for (service, path) in places {
            try await suite.kill(service)
            try await suite.launch(service)
            // The first response of the restarted service.
            let answer = try await suite.send(.GET, service, path, as: old)
            #expect(answer.status == 401 && answer.json["code"]?.string == "invalid_credential", "\(service)")
            try await suite.call(.GET, service, path, as: new)
        }
        _ = try await suite.stop()
        try await suite.cluster.destroy()
    }
}
