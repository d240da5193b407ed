import EventLog
import Foundation
import Records
import TestSupport
import Testing

@testable import OpsService

@Suite("The filter by text", .tags(.database), .timeLimit(.minutes(5))) struct TextFilterTests {
    @Test func `a text is found in the type, the subject and the data, in any case of letters`() async throws {
        try await OpsFixture.run { fixture in
            let wanted = try await fixture.append(
                "push.notification.received", to: "Phone-1", app: "com.example.Mail",
                data: #"{"alert":"50% of a_b\\c","title":"Straße"}"#)
            try await fixture.append("lifecycle.app.woken", to: "tablet", app: "com.example.chat")
            for text in [
                "NOTIFICATION.rec", "device:phone-1/COM", "mail", "50%25", "a_b", "%5C%5C", "stra%C3%9Fe",
                "%22alert%22:",
            ] {
                let found = try await fixture.get("/v1/events?text=\(text)").items
                #expect(found.map { $0["id"]?.string } == [wanted.uuidString.lowercased()], "\(text)")
            }
            for text in ["5%25%25", "a%25b", "absent", "axb"] {
                #expect(try await fixture.get("/v1/events?text=\(text)").items.isEmpty, "\(text)")
            }
            #expect(try await fixture.get("/v1/events?text=example").items.count == 2)
            #expect(try await fixture.get("/v1/events?text=example&device=tablet").items.count == 1)
            #expect(try await fixture.get("/v1/events?text=example&type=lifecycle.app.woken").items.count == 1)
            #expect(try await fixture.get("/v1/devices/tablet/timeline?text=CHAT").items.count == 1)
            #expect(try await fixture.get("/v1/devices/tablet/timeline?text=mail").items.isEmpty)
        }
    }

    @Test func `an invalid text is refused`() async throws {
        try await OpsFixture.run { fixture in
            for text in ["", "%00", "a%0Ab", String(repeating: "a", count: 201)] {
                let answer = try await fixture.get("/v1/events?text=\(text)")
                #expect(answer.status == 400 && answer.code == "invalid_query" && answer.faults == ["/text"])
            }
            #expect(try await fixture.get("/v1/events?text=\(String(repeating: "a", count: 200))").status == 200)
            #expect(try await fixture.get("/v1/events/stream?text=a").faults == ["/text"])
        }
    }

    /// Each page reads 30 events of the log, so pages may be empty.
    @Test(arguments: EventOrder.allCases, ["", "&device=d1", "&type=fetch.refresh.due"])
    func `pages with a text have every event once, and tell how far they searched`(
        _ order: EventOrder, others: String
    ) async throws {
        var limits = SearchLimits()
        (limits.events, limits.patience) = (30, .zero)
        try await OpsFixture.run(search: limits) { fixture in
            var wanted: Set<String> = []
            for number in 0..<200 {
                let id = try await fixture.append(
                    "fetch.refresh.due", to: "d\(number % 5)", data: number % 40 == 1 ? #"{"is":"Rare"}"# : "{}")
                if number % 40 == 1 { wanted.insert(id.uuidString.lowercased()) }
            }
            try await fixture.count()
            var seen: [String] = []
            var times: [String] = []
            var pages = 0
            var next: String?
            repeat {
                let cursor = next.map { "&cursor=\($0)" } ?? ""
                let page = try await fixture.get(
                    "/v1/events?text=RARE&order=\(order.rawValue)&limit=2\(others)\(cursor)")
                seen += page.items.compactMap { $0["id"]?.string }
                next = page.json["next"]?.string
                let time = page.headers["dormouse-searched-to"]
                #expect((time != nil) == (next != nil))
                if let time { times.append(time) }
                pages += 1
            } while next != nil && pages < 100
            #expect(seen.count == 5 && Set(seen) == wanted)
            #expect(times == (order == .oldest ? times.sorted() : times.sorted(by: >)))
            // A device has an index, so its pages read more of the log.
            #expect(others.contains("device") ? pages >= 3 : pages >= 7)
        }
    }
}
