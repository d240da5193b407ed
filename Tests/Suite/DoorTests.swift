import NIOHTTP1
import Records
import TestSupport
import Testing

/// What all services do alike about who may come in, with real processes and real roles.
@Suite("The doors of the suite", .timeLimit(.minutes(6))) struct DoorTests {
    @Test func aRotatedTokenOpensNothingAnywhereWhateverRestartsAndWhateverTheClockSays() async throws {
        let suite = try await RunningSuite.start(virtualTime: true)
        // Virtual time stands still: between the tokens lies none of it.
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
            // Its first answer to it.
            let answer = try await suite.send(.GET, service, path, as: old)
            #expect(answer.status == 401 && answer.json["code"]?.string == "invalid_credential", "\(service)")
            try await suite.call(.GET, service, path, as: new)
        }
        _ = try await suite.stop()
        try await suite.cluster.destroy()
    }
}
