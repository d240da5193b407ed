import Records
import TestSupport
import Testing

extension PushSuite {
    /// Makes a device with a registered app that silent notifications may wake, and whose alerts the user allows. The app
    /// does not run afterwards.
    ///
    /// - Returns: the app's device token.
    func makeDevice(_ device: String, app: String = app, profile: String = "ios18") async throws -> String {
        let path = "/v1/devices/\(device)"
        #expect(try await send("PUT", path, ["profile": .string(profile)], port: lifecycle).status == 201)
        let manifest: JSON = ["backgroundModes": ["remote-notification"], "notificationAuthorization": "authorized"]
        #expect(try await send("PUT", "\(path)/apps/\(app)", manifest, port: lifecycle).status == 201)
        return try await whileOnScreen(device, app: app) { [self] in
            let registered = try await send("PUT", "\(path)/apps/\(app)/registration", ["environment": "sandbox"])
            #expect(registered.status == 200)
            return try #require(registered.json["token"]?.string)
        }
    }

    /// Brings an app on screen while the body runs. Then the app exits, and `push` knows it.
    func whileOnScreen<Value>(
        _ device: String, app: String = app, _ body: () async throws -> Value
    ) async throws -> Value {
        let path = "/v1/devices/\(device)/apps/\(app)"
        let state = try await send("GET", path, port: lifecycle).json["state"]?.string
        let opening: JSON = ["event": state == "notRunning" ? "launch" : "open"]
        let opened = try await send("POST", path + "/transitions", opening, port: lifecycle)
        #expect(opened.status == 200)
        try await send("GET", path + "/explain", after: opened)
        let value = try await body()
        let exited = try await send("POST", path + "/transitions", ["event": "exit"], port: lifecycle)
        #expect(exited.status == 200)
        try await send("GET", path + "/explain", after: exited)
        return value
    }

    /// Invalidates the app's device token.
    func unregister(_ device: String, app: String = app) async throws {
        let path = "/v1/devices/\(device)/apps/\(app)/registration"
        let status = try await whileOnScreen(device, app: app) { try await send("DELETE", path).status }
        #expect(status == 204)
    }
}
