import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

@testable import TransferService

/// The JSON names of documents. They are written out here, because the OpenAPI document comes from the same code.
@Suite(.tags(.database, .processes), .serialized) struct Documents {
    private static let app = "/v1/devices/phone/apps/app"
    private static let session = app + "/sessions/s"

    private func run(_ body: (TransferSuite) async throws -> Void) async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        try await suite.prepare("phone")
        try await body(suite)
    }

    private func names(_ document: JSON?) -> [String] { (document?.members ?? []).map(\.name) }

    @Test func `a finished task has its result and attempts`() async throws {
        try await run { suite in
            let text = ByteBuffer(string: "0123456789")
            let put = try await suite.send(.PUT, suite.transferPort, "/content/digits", text)
            let created = try await suite.call(
                .POST, suite.transferPort, Self.session + "/downloads",
                #"{"resume":true,"url":"http://127.0.0.1:\#(suite.proxy.port)/content/digits","headers":{}}"#)
            #expect(created.status == 201 && created.json["task"] == 1 && created.json["state"] == "running")
            let task = try await suite.completed(1)
            #expect(task["task"] == 1 && task["kind"] == "download" && task["state"] == "completed")
            #expect(task["waiting"] == .null && task["until"] == .null && task["error"] == .null)
            #expect(task["bytesReceived"] == 10 && task["bytesExpected"] == 10)
            #expect(task["sha256"]?.string == put.json["sha256"]?.string && task["sha256"]?.string?.count == 64)
            let attempt = task["attempts"]?[0]
            #expect(names(attempt).sorted() == ["end", "from", "startedAt", "to"])
            #expect(attempt?["from"] == 0 && attempt?["to"] == 10 && attempt?["end"] == "finished")
            #expect(attempt?["startedAt"]?.string?.hasSuffix("Z") == true)
            #expect(task["response"]?["status"] == 200)
            #expect(task["response"]?["etag"]?.string == put.headers.first(name: "ETag"))
        }
    }

    @Test func `a task is suspended until it is resumed`() async throws {
        try await run { suite in
            _ = try await suite.send(.PUT, suite.transferPort, "/content/digits", ByteBuffer(string: "0123456789"))
            let url = "http://127.0.0.1:\(suite.proxy.port)/content/digits"
            let created = try await suite.call(
                .POST, suite.transferPort, Self.session + "/downloads", #"{"url":"\#(url)"}"#)
            #expect(created.json["task"] == 1 && created.json["state"] == "suspended")
            #expect(created.json["waiting"] == .null && created.json["attempts"] == [])
            let explained = try await suite.call(.GET, suite.transferPort, Self.app + "/explain").json
            #expect(explained["sessions"]?[0]?["tasks"]?[0]?["deadline"] == .null, "it does not time out")
            let resumed = try await suite.call(.POST, suite.transferPort, Self.session + "/tasks/1/resume")
            #expect(resumed.json["state"] == "running")
            #expect(try await suite.completed(1)["bytesReceived"] == 10)
        }
    }

    @Test func `a waiting task has its reason and a cancelled one its error`() async throws {
        try await run { suite in
            let url = "http://127.0.0.1:\(suite.proxy.port)/content/none"
            let later = "2999-01-01T00:00:00.000Z"
            let created = try await suite.call(
                .POST, suite.transferPort, Self.session + "/downloads",
                #"{"resume":true,"url":"\#(url)","earliestBeginDate":"\#(later)"}"#)
            #expect(created.json["waiting"] == "waitingForBeginDate" && created.json["until"]?.string == later)
            #expect(created.json["bytesExpected"] == .null && created.json["attempts"] == [])
            let changed = try await suite.call(
                .PATCH, suite.lifecyclePort, "/v1/devices/phone/conditions", #"{"network":{"kind":"none"}}"#)
            let position = changed.headers.first(name: "Dormouse-Position")
            let second = try await suite.call(
                .POST, suite.transferPort, Self.session + "/downloads", #"{"resume":true,"url":"\#(url)"}"#,
                position: position)
            #expect(second.json["state"] == "running" && second.json["waiting"] == "waitingForConnectivity")
            #expect(second.json["until"] == .null)
            let cancelled = try await suite.call(.POST, suite.transferPort, Self.session + "/tasks/2/cancel")
            #expect(cancelled.json["error"]?["domain"] == "NSURLErrorDomain")
            #expect(cancelled.json["error"]?["code"] == -999 && cancelled.json["waiting"] == .null)
            let all = try await suite.call(.GET, suite.transferPort, Self.session).json
            #expect(all["tasks"]?[0]?["waiting"] == "waitingForBeginDate" && all["tasks"]?[1]?["state"] == "completed")
        }
    }

    @Test func `a session has its configuration with defaults`() async throws {
        let standard: JSON = [
            "allowsCellularAccess": true, "allowsConstrainedNetworkAccess": true, "allowsExpensiveNetworkAccess": true,
            "httpAdditionalHeaders": [:], "httpMaximumConnectionsPerHost": 6, "isDiscretionary": false,
            "sessionSendsLaunchEvents": true, "timeoutIntervalForRequest": 60, "timeoutIntervalForResource": 604_800,
        ]
        let other: JSON = [
            "allowsCellularAccess": false, "allowsConstrainedNetworkAccess": false,
            "allowsExpensiveNetworkAccess": false, "httpAdditionalHeaders": ["X-Own": "1"],
            "httpMaximumConnectionsPerHost": 2, "isDiscretionary": true, "sessionSendsLaunchEvents": false,
            "timeoutIntervalForRequest": 5, "timeoutIntervalForResource": 3600,
        ]
        try await run { suite in
            for (name, told, want) in [("plain", [:], standard), ("own", other, other)] as [(String, JSON, JSON)] {
                let path = Self.app + "/sessions/\(name)"
                let put = try await suite.call(
                    .PUT, suite.transferPort, path, String(decoding: told.bytes, as: UTF8.self))
                for document in [put.json, try await suite.call(.GET, suite.transferPort, path).json] {
                    #expect(document["identifier"]?.string == name)
                    for member in want.members ?? [] {
                        #expect(document[member.name] == member.value, "\(member.name) of \(name)")
                    }
                }
            }
        }
    }

    @Test func `the list of sessions has only those of the app`() async throws {
        try await run { suite in
            let other = "/v1/devices/phone/apps/other"
            try await suite.call(.PUT, suite.lifecyclePort, other, "{}")
            let launched = try await suite.call(
                .POST, suite.lifecyclePort, other + "/transitions", #"{"event":"launch"}"#)
            let position = launched.headers.first(name: "Dormouse-Position")
            for name in ["s", "t"] {
                try await suite.call(.PUT, suite.transferPort, other + "/sessions/\(name)", "{}", position: position)
            }
            for (app, want) in [(Self.app, ["s"]), (other, ["s", "t"])] {
                let list = try await suite.call(.GET, suite.transferPort, app + "/sessions").json
                #expect(list["items"]?.items?.compactMap { $0["identifier"]?.string } == want)
                let session = try await suite.call(.GET, suite.transferPort, app + "/sessions/s").json
                #expect(session["app"]?.string == app.split(separator: "/").last.map(String.init))
            }
        }
    }

    @Test func `a download request keeps its priority, byte counts and begin date`() async throws {
        try await run { suite in
            try await suite.call(
                .POST, suite.transferPort, Self.session + "/downloads",
                #"""
                {"resume":true,"url":"http://127.0.0.1:\#(suite.proxy.port)/content/none","priority":0.75,
                "headers":{"X-Own":"1"},
                "countOfBytesClientExpectsToReceive":1000,"countOfBytesClientExpectsToSend":200,
                "earliestBeginDate":"2999-01-01T00:00:00.000Z"}
                """#)
            let data = try await suite.sql(
                "SELECT data->'request' FROM bus.events WHERE type = 'transfer.task.created'")
            let request = try JSON(parsing: Array(data.utf8))
            #expect(request["priority"] == 0.75 && request["headers"]?["X-Own"] == "1")
            #expect(request["countOfBytesClientExpectsToReceive"] == 1000)
            #expect(request["countOfBytesClientExpectsToSend"] == 200)
            #expect(try await suite.task(1)["bytesExpected"] == .null, "the client's estimate is not used")
        }
    }

    @Test func `explain shows the delay that wakes cause`() async throws {
        try await run { suite in
            func session() async throws -> JSON? {
                try await suite.call(.GET, suite.transferPort, Self.app + "/explain").json["sessions"]?[0]
            }
            let before = try #require(try await session())
            #expect(before["relaunches"] == 0 && before["delaySeconds"] == .null)
            _ = try await suite.send(.PUT, suite.transferPort, "/content/digits", ByteBuffer(string: "0123456789"))
            try await suite.proxy.pause()
            try await suite.download("http://127.0.0.1:\(suite.proxy.port)/content/digits")
            let home = try await suite.call(
                .POST, suite.lifecyclePort, Self.app + "/transitions", #"{"event":"home"}"#)
            try await suite.call(
                .GET, suite.transferPort, Self.session, position: home.headers.first(name: "Dormouse-Position"))
            suite.proxy.resume()
            try await eventually(describe: "the app was woken") {
                try await suite.events("phone").contains("transfer.wake.begun")
            }
            let after = try #require(try await session())
            #expect(after["relaunches"] == 1 && after["delaySeconds"] == 60)
        }
    }

    @Test func `the default port is 8084`() async throws {
        #expect(Transfer.port == 8084)
        let help = try ChildProcess.start(ChildProcess.product("transfer"), ["--help"])
        #expect(try await help.exit() == .exited(0))
        #expect(help.output.lines.contains { $0.contains("--port ") && $0.contains("default 8084") })
    }
}
