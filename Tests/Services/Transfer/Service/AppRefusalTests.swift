import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// Provokes every refusal that the OpenAPI document lists for calls about apps.
@Suite("Refusals of calls about apps", .tags(.database, .processes), .timeLimit(.minutes(4))) struct AppRefusalTests {
    @Test func `every described refusal of a call about an app occurs`() async throws {
        let asking = try await CannedServer.start { _ in
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"files\"\r\nContent-Length: 0\r\n\r\n"
        }
        let (suite, transfer) = try await TransferSuite.start(
            origins: [asking.url("")], settings: ["--upload-max-size", "1000"])
        defer { transfer.signal(SIGTERM) }
        let given = GivenRefusals(suite.description) { try await suite.send($0) }
        let operations = suite.description.operations.filter { !$0.isCommon && $0.path.hasPrefix("/v1/") }
        let refusals = AppRefusals(given: given, suite: suite)
        try await given.refuse(operations, in: try await refusals.scene())
        try await refusals.ofSessions()
        try await refusals.ofOldGenerations()
        try await refusals.ofTasks()
        try await refusals.ofWhatIsFull()
        try await refusals.ofUploads()
        try await refusals.ofAnswers(to: asking)
        try await refusals.ofFiles()
        let missing = given.missing(of: operations, but: .provokedElsewhere)
        #expect(missing.isEmpty, "described but never given: \(missing)")
    }
}

extension Set<String> {
    /// The codes of refusals that other tests provoke: those of `ServiceKit`, ``FullDisks``,
    /// ``StorageProblems`` and ``QuotaTests``.
    static let provokedElsewhere = GivenRefusals.circumstances.union([
        "disk_full", "storage_exhausted", "upload_quota_exceeded", "file_quota_exceeded", "fleet_file_quota_exceeded",
    ])
}

/// Provokes the refusals of calls about apps.
private struct AppRefusals {
    let given: GivenRefusals
    let suite: TransferSuite

    private let app = "/v1/devices/phone/apps/app"
    private let session = "/v1/devices/phone/apps/app/sessions/s"

    private var url: String { "http://127.0.0.1:\(suite.proxy.port)/content/film" }
    /// The request of a task that waits until its begin date.
    private var later: String { #"{"resume":true,"url":"\#(url)","earliestBeginDate":"2999-01-01T00:00:00.000Z"}"# }
    /// The calls that create tasks.
    private var creations: [(word: String, body: String)] {
        [
            ("/downloads", #"{"resume":true,"url":"\#(url)"}"#),
            ("/uploads", #"{"resume":true,"url":"\#(url)","file":"film"}"#),
        ]
    }

    @discardableResult
    private func call(_ method: HTTPMethod, _ path: String, _ body: String? = nil, position: String? = nil)
        async throws -> HTTPAnswer
    {
        try await suite.call(method, suite.transferPort, path, body, position: position)
    }

    /// Returns the log position of the transition, which `transfer` must reach.
    private func transition(_ event: String, _ app: String) async throws -> String? {
        try await suite.call(.POST, suite.lifecyclePort, app + "/transitions", #"{"event":"\#(event)"}"#)[
            "Dormouse-Position"]
    }

    /// Creates a device with two apps. One runs and has a session with a waiting task.
    func scene() async throws -> GivenRefusals.Scene {
        try await suite.prepare("phone")
        let still = try await suite.call(.PUT, suite.lifecyclePort, "/v1/devices/phone/apps/still", "{}")
        try await call(.GET, "/v1/devices/phone/apps/still/files", position: still["Dormouse-Position"])
        let stranger = try await suite.call(.PUT, suite.lifecyclePort, "/v1/devices/other", #"{"profile":"ios18"}"#)
        var scene = GivenRefusals.Scene()
        scene.values = [
            "device": "phone", "app": "app", "identifier": "s", "task": "1", "callback": "didFinishDownloadingTo",
            "name": "film",
        ]
        scene.absent = [
            ("device_not_registered", "device", "nobody"), ("app_not_installed", "app", "none"),
            ("app_not_running", "app", "still"), ("unknown_session", "identifier", "none"),
            ("unknown_task", "task", "99"), ("unknown_file", "name", "none"),
            ("unknown_challenge", "challenge", "none"),
        ]
        scene.bearer = try #require(stranger.json["token"]?.string)
        scene.usedKey = "used"
        var used = GivenRefusals.Call("POST", session + "/downloads", Array(later.utf8))
        used.headers["Idempotency-Key"] = scene.usedKey
        #expect(try await suite.send(used).status == 201)
        scene.queries = ["limit=0", "cursor=x"]
        let bodies = Dictionary(
            uniqueKeysWithValues: creations + [
                ("/claim", #"{"name":"film"}"#), ("/{challenge}", #"{"disposition":"performDefaultHandling"}"#),
                ("/delayed-request", #"{"disposition":"continueLoading"}"#),
                ("/redirect", #"{"disposition":"follow"}"#),
                ("/system-cancellation", #"{"reason":"insufficientSystemResources"}"#),
            ])
        scene.body = { operation in
            guard operation.takesDocument else { return nil }
            return bodies.first { operation.path.hasSuffix($0.key) }?.value ?? "{}"
        }
        return scene
    }

    func ofSessions() async throws {
        let ending = app + "/sessions/ending"
        try await call(.PUT, ending, "{}")
        try await call(.POST, ending + "/downloads", later)
        try await call(.POST, ending + "/finish-tasks-and-invalidate")
        try await given.refuse("session_invalidated", "PUT", ending, "{}")
        for (word, body) in creations { try await given.refuse("session_invalidated", "POST", ending + word, body) }

        try await suite.prepare("tablet")
        let other = "/v1/devices/tablet/apps/other"
        try await suite.call(.PUT, suite.lifecyclePort, other, "{}")
        let launched = try await transition("launch", other)
        try await call(.PUT, other + "/sessions/own", "{}", position: launched)
        // The other app on this device has a session with the same identifier.
        try await call(.PUT, other + "/sessions/s", "{}")
        for number in 4...16 { try await call(.PUT, other + "/sessions/s\(number)", "{}") }
        try await given.refuse("too_many_sessions", "PUT", other + "/sessions/s17", "{}")

        let extensionSession = #"{"process":"appExtension"}"#
        try await given.refuse(
            "background_session_requires_shared_container", "PUT", other + "/sessions/new", extensionSession)
        try await given.refuse(
            "background_session_in_use_by_another_process", "PUT", other + "/sessions/own",
            #"{"process":"appExtension","sharedContainerIdentifier":"group.a"}"#)

        _ = try await transition("crash", other)
        let again = try await transition("launch", other)
        try await call(.GET, other + "/sessions", position: again)
        for (word, body) in creations {
            try await given.refuse("session_not_attached", "POST", other + "/sessions/own" + word, body)
        }
    }

    func ofOldGenerations() async throws {
        try await suite.prepare("old", profile: "ios9")
        let session = "/v1/devices/old/apps/app/sessions/s"
        let unconstrained = #"{"allowsConstrainedNetworkAccess":false}"#
        try await given.refuse("unsupported_on_profile", "PUT", session, unconstrained)
        let upload = #"{"url":"\#(url)","file":"film","earliestBeginDate":"2999-01-01T00:00:00.000Z"}"#
        try await given.refuse("unsupported_on_profile", "POST", session + "/downloads", later)
        try await given.refuse("unsupported_on_profile", "POST", session + "/uploads", upload)
        _ = try await suite.send(
            .PUT, suite.transferPort, "/v1/devices/old/apps/app/files/film", ByteBuffer(string: "film"))
        try await call(.POST, session + "/uploads", #"{"url":"\#(url)","file":"film"}"#)
        try await given.refuse(
            "unsupported_on_profile", "POST", session + "/tasks/1/cancel-by-producing-resume-data")
    }

    func ofTasks() async throws {
        for (word, more) in [("/downloads", ""), ("/uploads", #","file":"film""#)] {
            for (code, url) in [("origin_not_allowed", "http://elsewhere.example/"), ("unsupported_url", "ftp://a/b")] {
                try await given.refuse(code, "POST", session + word, #"{"resume":true,"url":"\#(url)"\#(more)}"#)
            }
        }
        let delayed = session + "/tasks/1/delayed-request"
        for (code, url) in [("origin_not_allowed", "http://elsewhere.example/"), ("unsupported_url", "ftp://a/b")] {
            let answer = #"{"disposition":"useNewRequest","request":{"url":"\#(url)"}}"#
            try await given.refuse(code, "POST", delayed, answer)
        }
        try await given.refuse("no_delayed_request", "POST", delayed, #"{"disposition":"continueLoading"}"#)
        try await given.refuse("no_redirect", "POST", session + "/tasks/1/redirect", #"{"disposition":"follow"}"#)
        for word in ["/downloads", "/uploads"] {
            try await given.refuse("unusable_resume_data", "POST", session + word, #"{"resumeData":"none"}"#)
        }
        try await given.refuse("file_not_ready", "GET", session + "/tasks/1/file")
        try await call(.POST, session + "/tasks/1/cancel")
        try await given.refuse("nothing_to_claim", "POST", session + "/tasks/1/claim", #"{"name":"film"}"#)

        _ = try await suite.send(.PUT, suite.transferPort, "/content/film", ByteBuffer(string: "film"))
        let created = try await call(.POST, session + "/downloads", #"{"resume":true,"url":"\#(url)"}"#)
        let finished = session + "/tasks/\(try #require(created.json["task"]?.int))"
        try await eventually(within: 60, describe: "it is downloaded") {
            try await call(.GET, finished).json["state"]?.string == "completed"
        }
        try await call(.POST, session + "/callbacks/didFinishDownloadingTo/completion", "{}")
        try await given.refuse("file_gone", "GET", finished + "/file")
    }

    func ofWhatIsFull() async throws {
        try await suite.prepare("busy")
        let busy = "/v1/devices/busy/apps/app"
        for _ in 1...64 { try await call(.POST, busy + "/sessions/s/downloads", later) }
        for (word, body) in creations {
            try await given.refuse("too_many_tasks", "POST", busy + "/sessions/s" + word, body)
        }

        try await suite.prepare("collector")
        let collector = "/v1/devices/collector/apps/app"
        try await call(.POST, collector + "/sessions/s/downloads", later)
        for number in 1...64 { try await call(.PUT, collector + "/files/f\(number)") }
        try await given.refuse("too_many_files", "PUT", collector + "/files/f65")
        try await given.refuse("too_many_files", "POST", collector + "/sessions/s/tasks/1/claim", #"{"name":"f65"}"#)

        try await suite.prepare("full")
        let full = "/v1/devices/full/apps/app"
        let long = later.replacing("film", with: String(repeating: "x", count: 2000))
        var answer = try await call(.POST, full + "/sessions/s/downloads", long)
        while answer.status == 201 {
            answer = try await suite.send(
                .POST, suite.transferPort, full + "/sessions/s/downloads",
                headers: ["Content-Type": "application/json"], ByteBuffer(string: long))
        }
        #expect(answer.code == "device_full")
        try await given.refuse("device_full", "PUT", full + "/files/film")
        let longer = #"{"url":"\#(url)","headers":{"X-A":"\#(String(repeating: "x", count: 3000))"}}"#
        try await given.refuse(
            "device_full", "POST", full + "/sessions/s/tasks/1/delayed-request",
            #"{"disposition":"useNewRequest","request":\#(longer)}"#)
        for (word, body) in creations {
            try await given.refuse("device_full", "POST", full + "/sessions/s" + word, body)
        }
    }

    func ofUploads() async throws {
        let tus = ["Tus-Resumable": "1.0.0", "Upload-Length": "3"]
        let begun = try await suite.send(.POST, suite.transferPort, "/files", headers: tus)
        let (location, upload) = (try #require(begun["Location"]), try #require(begun.uploadPath))
        func refuse(_ code: String, _ file: String) async throws {
            try await given.refuse(
                code, "POST", session + "/uploads", #"{"resume":true,"url":"\#(url)","file":"\#(file)"}"#)
        }
        try await refuse("unknown_file", "none")
        try await refuse("upload_incomplete", upload)
        // The URL from `Location` gets the same refusal.
        try await refuse("upload_incomplete", location)
        _ = try await suite.send(.DELETE, suite.transferPort, upload, headers: tus)
        try await refuse("upload_gone", upload)
        try await refuse("upload_gone", location)
    }

    func ofAnswers(to server: CannedServer) async throws {
        let created = try await call(.POST, session + "/downloads", #"{"resume":true,"url":"\#(server.url())"}"#)
        let task = session + "/tasks/\(try #require(created.json["task"]?.int))"
        let asked = Signal<String>()
        try await eventually(within: 60, describe: "the app has a challenge") {
            try await call(.GET, task).json["challenge"]?["id"]?.string.map { asked.fire($0) } ?? false
        }
        try await given.refuse(
            "credential_mismatch", "POST", app + "/challenges/\(try await asked.value())",
            #"{"disposition":"useCredential","credential":{"fingerprint":"\#(String(repeating: "ab", count: 32))"}}"#)
    }

    func ofFiles() async throws {
        let file = app + "/files/film"
        try await given.refuse("upload_too_large", "PUT", file, String(repeating: "x", count: 2000))
        let wire = try await UploadsWire.connect(suite.transferPort)
        try await wire.send("PUT \(file) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf")
        try await wire.finish()
        try given.refused("body_cut", "PUT", file, try await wire.heard())

        _ = try await suite.send(.PUT, suite.transferPort, file, ByteBuffer(string: "film"))
        let segments = suite.directory.appendingPathComponent("segments")
        for name in try FileManager.default.contentsOfDirectory(atPath: segments.path) {
            try FileManager.default.removeItem(at: segments.appendingPathComponent(name))
        }
        for method in ["GET", "HEAD"] { try await given.refuse("file_gone", method, file) }
    }
}
