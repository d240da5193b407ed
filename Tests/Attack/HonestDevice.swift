import Foundation
import NIOHTTP1
import Records
import TestSupport

/// A device of the honest clients, with its apps.
///
/// Every second one keeps its app on screen, so that its code may use `transfer`; the others open and leave theirs.
struct HonestDevice: Sendable {
    static let app = "com.example.app"
    /// The app with task requests: its manifest turns interval-based fetch off.
    static let tasks = "com.example.tasks"
    /// The app that registers and removes its token repeatedly. It plays audio, so that its code keeps running.
    static let toggled = "com.example.toggled"
    static let content = "attack/downloaded"

    let name: String
    let staysOnScreen: Bool
    /// For providers of notifications.
    let token: String

    var path: String { "/v1/devices/\(name)" }
    var key: String { "device:\(name)" }
    func path(of app: String) -> String { "\(path)/apps/\(app)" }

    /// Registers a device with its apps. Afterwards every service knows them.
    static func make(_ number: Int, _ suite: AttackedSuite, _ client: AttackClient) async throws -> HonestDevice {
        let name = "attack-\(number)"
        let staysOnScreen = number % 2 == 0
        let device = "/v1/devices/\(name)"
        let lifecycle = suite.replicas(of: .lifecycle)[0].directAddress
        try await client.require(Call(.PUT, device, ["profile": "ios18"]), to: lifecycle)
        let manifests: [(String, JSON)] = [
            (app, ["backgroundModes": ["fetch", "remote-notification"], "notificationAuthorization": "authorized"]),
            (toggled, ["backgroundModes": ["audio"]]),
            (tasks, ["backgroundModes": ["audio", "fetch", "processing"], "permittedTaskIdentifiers": ["clean"]]),
        ]
        for (app, manifest) in manifests {
            try await client.require(Call(.PUT, "\(device)/apps/\(app)", manifest), to: lifecycle)
        }
        // Their code runs on in the background, so that it can register and submit task requests.
        let play: [(String, JSON)] = [("transitions", ["event": "launch"]), ("activities/audio", [:])]
        for (app, (path, body)) in [toggled, tasks].flatMap({ app in play.map { (app, $0) } }) {
            try await client.require(Call(.POST, "\(device)/apps/\(app)/\(path)", body), to: lifecycle)
        }
        let launch = Call(.POST, "\(device)/apps/\(app)/transitions", ["event": "launch"])
        let launched = try await client.require(launch, to: lifecycle)
        let position = launched.headers.first(name: "Dormouse-Position") ?? ""
        func after(_ call: Call) -> Call {
            var call = call
            call.headers.append(("Dormouse-Position", position))
            return call
        }
        for replica in suite.replicas(of: .fetch) {
            let forecast = after(Call(.GET, "\(device)/apps/\(app)/forecast"))
            try await client.require(forecast, to: replica.directAddress)
        }
        let registration = after(
            Call(.PUT, "\(device)/apps/\(app)/registration", ["environment": "sandbox"]))
        let push = suite.replicas(of: .push)[0].directAddress
        let token = try await client.require(registration, to: push).json["token"]?.string ?? ""
        if staysOnScreen {
            let transfer = suite.replicas(of: .transfer)[0].directAddress
            let session = "\(device)/apps/\(app)/sessions/s"
            try await client.require(after(Call(.PUT, session, [:])), to: transfer)
            let url = JSON.string("\(transfer)/content/\(content)")
            let download = Call(
                .POST, session + "/downloads",
                ["url": url, "earliestBeginDate": "2099-01-01T00:00:00.000Z", "resume": true])
            try await client.require(download, to: transfer)
        }
        return HonestDevice(name: name, staysOnScreen: staysOnScreen, token: token)
    }
}
