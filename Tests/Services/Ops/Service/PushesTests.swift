import Contracts
import EventLog
import Foundation
import Postgres
import Records
import TestSupport
import Testing
import Timeline

@testable import OpsService

/// The list of notifications.
@Suite("Pushes over HTTP", .tags(.database), .timeLimit(.minutes(5))) struct PushesTests {
    @Test func `each push has a row with its verdict and the reason`() async throws {
        try await OpsFixture.run { fixture in
            let story = PushStory(fixture)
            try await story.register("phone", fleet: "lab")
            // Stored while the device is offline, then shown late, and later replaced.
            try await story.receive("n1", at: 0, #""apnsID":"x","collapseID":"c","forUser":true"#)
            try await story.tell("notification.stored", "n1", at: 0, "Stored – Device Offline")
            try await story.tell("notification.delivered", "n1", at: 60, "Delivered From Storage")
            let shown = try await story.tell("notification.acknowledged", "n1", at: 61, "Acknowledged", arrived: true)
            try await story.tell("notification.replaced", "n1", at: 70, "Replaced By", #","by":"n9""#)
            // Silent, in time.
            try await story.receive("n2", at: 100, #""pushType":"background","silent":true"#)
            try await story.tell("notification.delivered", "n2", at: 100, "Delivered")
            try await story.tell("wake.requested", "n2", at: 100, nil)
            try await story.tell("notification.acknowledged", "n2", at: 101, "Acknowledged")
            try await story.tell("wake.granted", "n2", at: 102, "Woke App", arrived: true)
            // Silent, and its app was force-quit.
            try await story.receive("n3", at: 200, #""pushType":"background","silent":true"#)
            try await story.tell("wake.requested", "n3", at: 200, nil)
            try await story.tell("wake.refused", "n3", at: 200, "Wake Refused", #","refusal":"forceQuit""#)
            try await story.tell(
                "notification.discarded", "n3", at: 200, "Discarded – Not Woken", #","refusal":"forceQuit""#)
            // An alert that no one showed, one that is held, and a call that is under way when the device is removed.
            try await story.receive("n4", at: 300, #""forUser":true"#)
            try await story.tell("notification.acknowledged", "n4", at: 301, "Acknowledged")
            try await story.receive("n5", at: 400, #""pushType":"background","silent":true"#)
            try await story.tell("notification.held", "n5", at: 400, "Held – Silent Budget")
            try await story.register("tablet", fleet: nil)
            try await story.receive("n6", at: 500, #""pushType":"voip","priority":5"#, to: "tablet")
            try await story.append("push.device.removed", to: "tablet", at: 501, "{}")

            let answer = try await fixture.get("/v1/pushes")
            let rows = answer.items.map { row in
                ["notification", "type", "outcome", "cause", "verdict", "why"].map { row[$0]?.string ?? "–" }
                    .joined(separator: ", ")
            }
            #expect(
                rows == [
                    "n6, voip, Device Removed, –, never, Device Removed",
                    "n5, silent, Held – Silent Budget, –, pending, Held – Silent Budget",
                    "n4, alert, Acknowledged, –, never, Not Shown",
                    "n3, silent, Discarded – Not Woken, forceQuit, never, Discarded – Not Woken",
                    "n2, silent, Woke App, –, inTime, –",
                    "n1, alert, Acknowledged, –, late, Stored – Device Offline",
                ])
            let late = try #require(answer.items.last)
            #expect(late["delay"]?.double == 61 && late["event"]?.string == shown.lowercased)
            #expect(late["arrivedAt"] == late["shownAt"] && late["wokeAt"] == .null && late["fleet"] == "lab")
            #expect(late["apnsID"] == "x" && late["collapseID"] == "c" && late["priority"] == 10)
            #expect(late["sentAt"]?.string == PushStory.start.description && late["device"] == "phone")
            #expect(late["expiration"]?.string == (PushStory.start + .hours(1)).description)
            #expect(answer.items[4]["wokeAt"]?.string == (PushStory.start + .seconds(102)).description)
        }
    }

    @Test(arguments: OpsFixture.incarnations) func `pushes are filtered, and come in pages without a gap`(
        of incarnation: LogIncarnation
    ) async throws {
        try await OpsFixture.run(incarnation: incarnation) { fixture in
            let story = PushStory(fixture)
            for (device, fleet) in [("d1", "lab"), ("d2", "lab"), ("d3", nil)] {
                try await story.register(device, fleet: fleet)
            }
            for number in 0..<30 {
                // Several are sent at the same time.
                let (id, time, device) = ("n\(number)", number / 4 * 10, "d\(number % 3 + 1)")
                let silent = number.isMultiple(of: 2) ? #""silent":true"# : #""forUser":true"#
                try await story.receive(id, at: time, silent, to: device, app: number < 20 ? "mail" : "web")
                guard number < 25 else { continue }
                try await story.tell(
                    "notification.acknowledged", id, at: time + number, "Acknowledged", arrived: true, to: device)
            }
            func list(_ query: String) async throws -> [String] {
                var names: [String] = []
                var cursor = ""
                repeat {
                    let page = try await fixture.get("/v1/pushes?limit=4\(query)\(cursor)")
                    #expect(page.status == 200, "\(page.json)")
                    names += page.items.compactMap { $0["notification"]?.string }
                    #expect(page.items.count <= 4)
                    cursor = page.json["next"]?.string.map { "&cursor=\($0)" } ?? ""
                } while !cursor.isEmpty
                return names
            }
            func names(_ numbers: some Sequence<Int>) -> Set<String> { Set(numbers.map { "n\($0)" }) }
            try await fixture.expectPlaces(of: incarnation, in: "/v1/pushes")
            let all = try await list("")
            #expect(all.count == 30 && Set(all) == names(0..<30), "\(all)")
            let times = all.compactMap { Int($0.dropFirst()) }.map { $0 / 4 }
            #expect(times == times.sorted(by: >))
            for (query, expected) in [
                ("device=d2", names(stride(from: 1, to: 30, by: 3))), ("app=web", names(20..<30)),
                ("fleet=lab", names((0..<30).filter { $0 % 3 < 2 })),
                ("type=silent", names(stride(from: 0, to: 30, by: 2))), ("verdict=pending", names(25..<30)),
                ("verdict=inTime&lateAfter=10", names(0...10)), ("verdict=late&lateAfter=10", names(11..<25)),
                ("verdict=never", []), ("fleet=lab&app=web&verdict=pending", names([25, 27, 28])),
                ("from=\(PushStory.start + .seconds(10))&to=\(PushStory.start + .seconds(20))", names(4..<8)),
            ] {
                let found = try await list("&" + query)
                #expect(found.count == expected.count && Set(found) == expected, "\(query)")
            }
        }
    }

    @Test(arguments: [1, 2, 100]) func `a refused push has a row, for any batches`(size: Int) async throws {
        try await OpsFixture.run { fixture in
            let story = PushStory(fixture)
            try await story.register("phone", fleet: "lab")
            try await story.receive("n1", at: 0, #""forUser":true"#)
            try await story.refuse("n2", at: 10, "Refused – DeviceTokenNotForTopic")
            try await story.append("lifecycle.device.deregistered", to: "phone", at: 20, "{}")
            try await story.append("push.device.removed", to: "phone", at: 20, "{}")
            try await story.refuse("n3", at: 30, "Refused – Unregistered")
            let count = Statement("SELECT ops.count_events(NULL, $1)")
            while try await fixture.pool.execute(Query(count, .int4(Int32(size))))[0].decode(Int.self, at: 0) > 0 {}
            func list(_ query: String) async throws -> [String] {
                try await fixture.get("/v1/pushes?\(query)").items.map { row in
                    ["notification", "fleet", "verdict", "why"].map { row[$0]?.string ?? "–" }.joined(separator: ", ")
                }
            }
            let refused = [
                "n3, –, refused, Refused – Unregistered", "n2, lab, refused, Refused – DeviceTokenNotForTopic",
            ]
            let lost = "n1, lab, never, Device Removed"
            #expect(try await list("verdict=refused") == refused)
            #expect(try await list("verdict=never") == [lost])
            #expect(try await list("") == refused + [lost])
            let rows = try await fixture.owner.execute(
                Query(Statement("SELECT verdict FROM ops.pushes ORDER BY sent_at")))
            #expect(try rows.decode(String.self) == ["never", "refused", "refused"])
        }
    }

    @Test func `pushes are CSV for clients that ask for it`() async throws {
        try await OpsFixture.run { fixture in
            let story = PushStory(fixture)
            try await story.register("phone", fleet: nil)
            for id in ["n1", "n2"] { try await story.receive(id, at: 0, #""collapseID":"a,b""#) }
            let answer = try await fixture.get("/v1/pushes?limit=1", ["Accept": "text/csv"])
            #expect(answer.headers["content-type"] == "text/csv; charset=utf-8; header=present")
            #expect(answer.headers["link"]?.hasSuffix("rel=\"next\"") == true)
            let lines = answer.body.split(separator: "\r\n")
            #expect(lines.count == 2 && lines[0].split(separator: ",").count == 21)
            #expect(lines[1].hasPrefix("\(PushStory.start),,phone,mail,n2,alert,10,\"a,b\","))
            #expect(lines[1].contains(",Received,,pending,Received,"))
            #expect(try await fixture.get("/v1/pushes", ["Accept": "image/png"]).code == "not_acceptable")
        }
    }

    @Test func `faults of the query are reported together`() async throws {
        try await OpsFixture.run { fixture in
            let answer = try await fixture.get(
                "/v1/pushes?verdict=lost&type=loud&lateAfter=-1&from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z"
                    + "&cursor=x&colour=red")
            #expect(answer.status == 400 && answer.code == "invalid_query")
            #expect(answer.faults == ["/verdict", "/type", "/lateAfter", "/to", "/cursor", "/colour"])
            #expect(try await fixture.get("/v1/pushes", key: OpsFixture.otherKey).status == 403)
        }
    }

    /// Each filter selects at most four of 30,000 notifications, most of which are shown at once.
    @Test func `a filter for rare pushes uses an index`() async throws {
        try await OpsFixture.run { fixture in
            try await fixture.sql(
                """
                INSERT INTO ops.known_pushes (partition, notification, log_offset, day, key, app, type, priority, for_user, sent_at,
                    arrived_at, acknowledged, status, event)
                SELECT n % 3, 'n' || n, n, current_date, 'device:d' || n % 100, 'mail', CASE n % 9973 WHEN 1 THEN 'voip' ELSE 'alert' END,
                    10, true, 1600000000000 + n, CASE n % 9973 WHEN 2 THEN NULL WHEN 3 THEN 1600000900000 + n ELSE 1600000000200 + n END,
                    n % 9973 <> 2, CASE WHEN n % 9973 = 2 AND n > 15000 THEN 'Discarded – Expired' ELSE 'Received' END,
                    gen_random_uuid()
                FROM generate_series(1, 30000) AS n
                """)
            try await fixture.sql("ANALYZE ops.known_pushes")
            func plan(_ change: (inout PushQuery) -> Void) async throws -> String {
                var query = PushQuery()
                change(&query)
                let search = PushSearch(query, partitions: OpsFixture.partitions)
                return try await fixture.pool.execute(Query(Statement("EXPLAIN " + search.sql), search.parameters))
                    .map { try $0.decode(String.self, at: 0) }.joined(separator: "\n")
            }
            #expect(try await plan { $0.type = "voip" }.contains("known_pushes_partition_type_sent_at"))
            for verdict in [PushVerdict.never, .pending] {
                #expect(try await plan { $0.verdict = verdict }.contains("known_pushes_not_arrived"), "\(verdict)")
            }
            for lateAfter in [30_000, 300_000] {
                let found = try await plan { ($0.verdict, $0.lateAfter) = (.late, lateAfter) }
                #expect(found.contains("known_pushes_slow"), "\(found)")
            }
            for (filter, count) in [
                ("type=voip", 4), ("verdict=never", 2), ("verdict=pending", 2), ("verdict=late", 4),
            ] {
                #expect(try await fixture.get("/v1/pushes?" + filter).items.count == count, "\(filter)")
            }
        }
    }

    @Test func `the rows of days that retention drops are deleted`() async throws {
        try await OpsFixture.run { fixture in
            let story = PushStory(fixture)
            try await story.register("phone", fleet: nil)
            for id in ["n1", "n2"] { try await story.receive(id, at: 0, #""forUser":true"#) }
            try await fixture.count()
            try await fixture.sql("UPDATE ops.known_pushes SET day = current_date - 900")
            // A later event keeps the row.
            try await story.tell("notification.stored", "n2", at: 5, "Stored – Device Offline")
            try await fixture.count()
            #expect(try await fixture.get("/v1/pushes").items.map { $0["notification"] } == ["n2"])
        }
    }
}

/// Writes the events of pushes, at times after a fixed start.
struct PushStory {
    static let start = Instant("2026-03-02T08:00:00.000Z") ?? .epoch
    let fixture: OpsFixture

    init(_ fixture: OpsFixture) { self.fixture = fixture }

    @discardableResult
    func append(
        _ type: String, to device: String, at seconds: Int, _ data: String, app: String? = nil
    ) async throws -> UUID {
        let time = Self.start + .seconds(Int64(seconds))
        let event = ForeignEvent(type, to: device, app: app, at: time, data: data)
        try await fixture.owner.append(event, partitions: OpsFixture.partitions)
        return event.id
    }

    func register(_ device: String, fleet: String?) async throws {
        let member = fleet.map { #","fleet":"\#($0)""# } ?? ""
        try await append(
            "lifecycle.device.registered", to: device, at: 0, #"{"registration":{"profile":"ios18"\#(member)}}"#)
    }

    /// A provider sent a notification, which is valid for an hour.
    func receive(
        _ id: String, at seconds: Int, _ members: String, to device: String = "phone", app: String = "mail"
    ) async throws {
        let until = Self.start + .seconds(Int64(seconds)) + .hours(1)
        try await append(
            "push.notification.received", to: device, at: seconds,
            #"{"notification":"\#(id)","status":"Received","until":"\#(until)",\#(members)}"#, app: app)
    }

    /// APNs refused a push.
    func refuse(_ id: String, at seconds: Int, _ status: String) async throws {
        try await append(
            "push.notification.refused", to: "phone", at: seconds,
            #"{"notification":"\#(id)","status":"\#(status)","forUser":true}"#, app: "mail")
    }

    @discardableResult
    func tell(
        _ type: String, _ id: String, at seconds: Int, _ status: String?, _ members: String = "", arrived: Bool = false,
        to device: String = "phone"
    ) async throws -> UUID {
        let told = status.map { #","status":"\#($0)","arrived":\#(arrived)"# } ?? ""
        return try await append(
            "push.\(type)", to: device, at: seconds, #"{"notification":"\#(id)"\#(told)\#(members)}"#, app: "mail")
    }
}
