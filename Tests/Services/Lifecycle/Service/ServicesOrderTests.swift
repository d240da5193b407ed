import Contracts
import Records
import TestSupport
import Testing
import Timeline

@testable import LifecycleService

@Suite("Orders of other services", .tags(.database), .timeLimit(.minutes(5))) struct ServicesOrderTests {
    private static let deadline = Instant(milliseconds: 1_750_000_000_000)

    @Test func `a device gets the orders of transfer and push in log order`() async throws {
        try await LifecycleFixture.run { fixture in
            let token = try await fixture.phone("d1", fleet: "blue")
            let path = "/v1/devices/d1/orders"
            let start = try #require(try await fixture.send("GET", path + "?wait=0")["next"]?.string)
            var device = try await OrderStream(fixture, path, key: token)
            var fleet = try await OrderStream(fixture, "/v1/fleets/blue/orders")
            let place = TaskKey(app: "a", session: "s", task: 2)
            try await fixture.append(
                PushEvent.TokenRegistered(app: "a", environment: .sandbox, token: "f00d"), to: "d1")
            try await fixture.transition("d1", "launch")
            try await fixture.append(PushEvent.NotificationOpened(app: "a", notification: "n"), to: "d1")
            // `lifecycle` opens the app in a reaction, which must be in the log before the next events.
            var heard: [JSON?] = []
            while heard.count < 3 { heard.append(try await device.next()?.order) }
            // These events give no orders.
            try await fixture.append(
                PushEvent.TokenUnregistered(app: "a", cause: .unregistered, environment: .sandbox, token: "f00d"),
                to: "d1")
            try await fixture.append(TransferEvent.AttemptScheduled(place), to: "d1")
            try await fixture.append(TransferEvent.ResponseReceived(place), to: "d1")
            try await fixture.append(
                TransferEvent.ResponseReceived(place) { event in
                    event.from = 40
                    event.response.completeLength = 100
                }, to: "d1")
            try await fixture.append(
                TransferEvent.ProgressMade(place) { event in
                    event.bytesWritten = 60
                    event.totalBytesWritten = 100
                }, to: "d1")
            // The app had no delegate for these.
            try await fixture.append(TransferEvent.ProgressMade(place) { $0.isDelivered = false }, to: "d1")
            try await fixture.append(TransferEvent.BodySent(place) { $0.isDelivered = false }, to: "d1")
            try await fixture.append(
                TransferEvent.BodySent(place) { event in
                    event.bytesSent = 5
                    event.totalBytesSent = 7
                    event.totalBytesExpectedToSend = 9
                }, to: "d1")
            for kind in TransferKind.allCases {
                try await fixture.append(
                    TransferEvent.ProgressReported(place) { event in
                        event.kind = kind
                        event.bytes = 3
                        event.totalBytes = 4
                    }, to: "d1")
            }
            try await fixture.append(TransferEvent.ProgressReported(place) { $0.resumedAt = 6 }, to: "d1")
            try await fixture.append(TransferEvent.TaskCompleted(place), to: "d1")
            try await fixture.append(
                TransferEvent.ChallengePresented(place) { event in
                    event.id = "c"
                    event.until = Self.deadline
                    event.challenge.host = "h"
                    event.challenge.port = 80
                }, to: "d1")
            try await fixture.append(
                TransferEvent.DelayedRequestPresented(place) { event in
                    event.until = Self.deadline
                    event.url = "http://h/f"
                }, to: "d1")
            try await fixture.append(
                TransferEvent.RedirectPresented(place) { event in
                    event.until = Self.deadline
                    event.method = "GET"
                    event.status = 302
                    event.url = "http://h/g"
                }, to: "d1")
            try await fixture.append(
                TransferEvent.InformationalReceived(place) { $0.response = .init(status: 103, link: "</s>") },
                to: "d1")
            try await fixture.append(TransferEvent.DownloadFinished(place) { $0.until = Self.deadline }, to: "d1")
            try await fixture.append(
                TransferEvent.EventsDelivered(app: "a", finishesEvents: true, session: "s", tasks: [2, 1]), to: "d1")
            try await fixture.append(TransferEvent.SessionEnded(app: "a", session: "s"), to: "d1")
            let expected: [(type: String, name: String, data: JSON)] = [
                (
                    "callback", "didRegisterForRemoteNotificationsWithDeviceToken",
                    [
                        "callbacks": ["didRegisterForRemoteNotificationsWithDeviceToken"], "environment": "sandbox",
                        "kind": "apns", "token": "f00d",
                    ]
                ),
                (
                    "callback", "didBecomeActive",
                    ["callbacks": ["willFinishLaunching", "didFinishLaunching", "didBecomeActive"]]
                ),
                (
                    "callback", "didReceiveNotificationResponse",
                    ["callbacks": ["didReceiveNotificationResponse"], "notification": "n"]
                ),
                (
                    "transferProgress", "didResumeAtOffset",
                    ["expectedTotalBytes": 100, "fileOffset": 40, "session": "s", "task": 2]
                ),
                (
                    "transferProgress", "didWriteData",
                    [
                        "bytesWritten": 60, "session": "s", "task": 2, "totalBytesExpectedToWrite": .null,
                        "totalBytesWritten": 100,
                    ]
                ),
                (
                    "transferProgress", "didSendBodyData",
                    [
                        "bytesSent": 5, "session": "s", "task": 2, "totalBytesExpectedToSend": 9, "totalBytesSent": 7,
                    ]
                ),
                (
                    "transferProgress", "didWriteData",
                    [
                        "bytesWritten": 3, "session": "s", "task": 2, "totalBytesExpectedToWrite": .null,
                        "totalBytesWritten": 4,
                    ]
                ),
                (
                    "transferProgress", "didSendBodyData",
                    [
                        "bytesSent": 3, "session": "s", "task": 2, "totalBytesExpectedToSend": .null,
                        "totalBytesSent": 4,
                    ]
                ),
                (
                    "transferProgress", "didResumeAtOffset",
                    ["expectedTotalBytes": .null, "fileOffset": 6, "session": "s", "task": 2]
                ),
                (
                    "challenge", "didReceiveChallenge",
                    [
                        "authenticationMethod": "basic", "fingerprint": .null, "host": "h", "id": "c", "isProxy": false,
                        "port": 80, "previousFailureCount": 0, "realm": .null, "session": "s", "task": 2,
                    ]
                ),
                (
                    "callback", "willBeginDelayedRequest",
                    ["callbacks": ["willBeginDelayedRequest"], "session": "s", "task": 2, "url": "http://h/f"]
                ),
                (
                    "callback", "willPerformHTTPRedirection",
                    [
                        "callbacks": ["willPerformHTTPRedirection"], "method": "GET", "session": "s", "status": 302,
                        "task": 2, "url": "http://h/g",
                    ]
                ),
                (
                    "callback", "didReceiveInformationalResponse",
                    [
                        "callbacks": ["didReceiveInformationalResponse"], "link": "</s>", "location": .null,
                        "session": "s", "status": 103, "task": 2,
                    ]
                ),
                (
                    "callback", "didFinishDownloadingTo",
                    ["callbacks": ["didFinishDownloadingTo"], "session": "s", "task": 2]
                ),
                (
                    "callback", "urlSessionDidFinishEvents",
                    [
                        "callbacks": ["didCompleteWithError", "didCompleteWithError", "urlSessionDidFinishEvents"],
                        "session": "s", "tasks": [2, 1],
                    ]
                ),
                (
                    "callback", "didBecomeInvalidWithError",
                    ["callbacks": ["didBecomeInvalidWithError"], "session": "s"]
                ),
            ]
            let polled = try #require(try await fixture.send("GET", path + "?wait=0&after=\(start)")["items"]?.items)
            #expect(polled.count == expected.count)
            for (expected, polled) in zip(expected, polled) {
                #expect(polled["type"]?.string == expected.type && polled["name"]?.string == expected.name)
                #expect(polled["data"] == expected.data)
                #expect(polled["app"] == "a" && polled["device"] == "d1")
                let isLimited = [
                    "didReceiveChallenge", "didFinishDownloadingTo", "willBeginDelayedRequest",
                    "willPerformHTTPRedirection",
                ].contains(expected.name)
                #expect(polled["deadline"] == (isLimited ? .string(Self.deadline.description) : .null))
                let told = heard.isEmpty ? try await device.next()?.order : heard.removeFirst()
                #expect(told == polled)
                #expect(try await fleet.next()?.order == polled)
            }
        }
    }

    @Test func `a new stream begins at the end of the log`() async throws {
        try await LifecycleFixture.run { fixture in
            _ = try await fixture.phone("d1")
            let old = TransferEvent.ProgressMade(TaskKey(app: "a", session: "s", task: 1))
            try await fixture.append(old, to: "d1")
            var stream = try await OrderStream(fixture, "/v1/devices/d1/orders")
            let poll = try await fixture.send("GET", "/v1/devices/d1/orders?wait=0")
            #expect(poll["items"] == [])
            try await fixture.transition("d1", "launch")
            #expect(try await stream.next()?.order["name"] == "didBecomeActive")
        }
    }

    @Test func `a long poll returns a limited number of orders and continues after them`() async throws {
        try await LifecycleFixture.run { fixture in
            _ = try await fixture.phone("d1")
            let path = "/v1/devices/d1/orders?wait=0"
            var after = try #require(try await fixture.send("GET", path)["next"]?.string)
            let count = OrderList.limit + 7
            for task in 1...count {
                // Every second event gives an order.
                let place = TaskKey(app: "a", session: "s", task: task)
                try await fixture.append(TransferEvent.AttemptScheduled(place), to: "d1")
                try await fixture.append(TransferEvent.ProgressMade(place), to: "d1")
            }
            var tasks: [Int] = []
            for expected in [OrderList.limit, 7, 0] {
                let answer = try await fixture.send("GET", path + "&after=\(after)")
                let items = try #require(answer["items"]?.items)
                #expect(items.count == expected)
                tasks += items.compactMap { $0["data"]?["task"]?.int }
                after = try #require(answer["next"]?.string)
            }
            #expect(tasks == Array(1...count))
        }
    }
}
