import Postgres
import Records
import TestSupport
import Testing

@testable import OpsService

/// The audit trail over HTTP, in the view for SQL tools and on the page.
@Suite("Audit over HTTP", .tags(.database, .browser), .timeLimit(.minutes(5))) struct AuditRoutesTests {
    @Test func `each change of the clock leaves one row, and a refused one none`() async throws {
        try await OpsFixture.run(virtual: true) { fixture in
            for body in [#"{"rate":0}"#, #"{"speed":2}"#] {
                #expect(try await fixture.send("PUT", "/v1/clock", body).status == 422)
            }
            let reader = OpsFixture.readKey
            #expect(try await fixture.send("PUT", "/v1/clock", #"{"rate":2}"#, key: reader).status == 403)
            #expect(try await fixture.get("/v1/audit").items == [])
            #expect(try await fixture.send("PUT", "/v1/clock", #"{"frozen":true}"#).status == 200)
            try await fixture.running { _ in
                let key = ["Idempotency-Key": "k1"]
                for _ in 1...2 {
                    let answer = try await fixture.send("POST", "/v1/clock/advance", #"{"seconds":60}"#, key)
                    #expect(answer.status == 200)
                }
            }
            let rows = try await fixture.get("/v1/audit").items
            #expect(rows.map { $0["action"] } == ["clock.advanced", "clock.set"])
            for row in rows {
                #expect(row["actor"] == "o" && row["actorKind"] == "operator" && row["service"] == "ops")
                #expect(row["subject"] == "clock" && row["count"] == 1 && row["address"] == "127.0.0.1")
            }
            #expect(rows.last?["details"] == ["frozen": true])
            #expect(rows.first?["details"]?["seconds"] == 60)
        }
    }

    @Test func `a clock in real time leaves no row`() async throws {
        try await OpsFixture.run { fixture in
            let set = try await fixture.send("PUT", "/v1/clock", #"{"rate":2}"#)
            let advanced = try await fixture.send("POST", "/v1/clock/advance", #"{"seconds":1}"#)
            #expect(set.json["code"] == "clock_not_virtual" && advanced.json["code"] == "clock_not_virtual")
            #expect(try await fixture.get("/v1/audit").items == [])
        }
    }

    @Test func `pages skip and repeat no row, also at equal times`() async throws {
        try await OpsFixture.run { fixture in
            try await fixture.fillAudit()
            var ids: [String] = []
            var cursor = ""
            repeat {
                let page = try await fixture.get("/v1/audit?limit=7" + cursor).json
                ids += (page["items"]?.items ?? []).compactMap { $0["id"]?.string }
                cursor = page["next"]?.string.map { "&cursor=\($0)" } ?? ""
            } while !cursor.isEmpty
            let all = try await fixture.get("/v1/audit?limit=1000").items
            #expect(ids.count == 30 && Set(ids).count == 30 && ids == all.compactMap { $0["id"]?.string })
            let times = all.compactMap { $0["at"]?.string }
            #expect(times == times.sorted(by: >) && Set(times).count == 2)
        }
    }

    @Test func `rows are found by action, actor, subject and time`() async throws {
        try await OpsFixture.run { fixture in
            try await fixture.fillAudit()
            for (filter, count) in [
                ("action=fleetToken.issued", 15), ("action=clock.set", 0), ("actor=alice", 10), ("subject=fleet:f3", 1),
                ("since=2026-01-02T00:00:00Z", 15), ("until=2026-01-02T00:00:00Z", 15),
                ("actor=alice&action=fleetToken.issued", 5),
            ] {
                #expect(try await fixture.get("/v1/audit?limit=100&\(filter)").items.count == count, "\(filter)")
            }
            for wrong in [
                "cursor=x", "limit=0", "limit=1001", "action=a/b", "actor=", "since=now", "actors=alice",
                "since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z",
            ] {
                #expect(try await fixture.get("/v1/audit?\(wrong)").code == "invalid_query", "\(wrong)")
            }
            #expect(try await fixture.get("/v1/audit", key: OpsFixture.otherKey).status == 403)
            let viewed = try await fixture.owner.execute(
                Query(Statement("SELECT count(*) FROM ops.audit WHERE actor = 'alice'")))[0].decode(Int.self)
            #expect(viewed == 10)
        }
    }

    @Test func `the page shows the rows of the API`() async throws {
        try await OpsFixture.run { fixture in
            try await Browser.run { browser in
                let page = "http://127.0.0.1:\(fixture.port)/#/audit"
                try await browser.open(page, key: OpsFixture.readKey)
                let lead = "document.querySelector('#audit-lead').textContent"
                try await browser.until("\(lead) === 'No action is recorded yet.'")
                try await fixture.fillAudit()
                try await browser.until("document.querySelectorAll('#audit-rows tr').length === 30")
                let rows = try await fixture.get("/v1/audit").items
                let actions = try await browser.evaluate(
                    "[...document.querySelectorAll('#audit-rows th')].map(each => each.textContent)")
                #expect(actions.items == rows.map { $0["action"] ?? .null })
                try await browser.evaluate("location.hash = '#/audit?actor=alice'")
                try await browser.until("document.querySelectorAll('#audit-rows tr').length === 10")
                try await browser.evaluate("location.hash = '#/audit?actor=nobody'")
                try await browser.until("\(lead) === 'No row matches.'")
                #expect(await browser.complaints == [])
            }
        }
    }
}

extension OpsFixture {
    /// Adds 30 rows at two times.
    fileprivate func fillAudit() async throws {
        try await sql(
            """
            INSERT INTO bus.audit (at, actor_kind, actor, action, subject)
            SELECT CASE WHEN n < 15 THEN '2026-01-01T00:00:00Z'::timestamptz ELSE '2026-01-03T00:00:00Z' END, 'operator',
                CASE WHEN n % 3 = 0 THEN 'alice' ELSE 'ci' END,
                CASE WHEN n % 2 = 0 THEN 'fleetToken.issued' ELSE 'fleetToken.revoked' END, 'fleet:f' || n
            FROM generate_series(0, 29) AS n
            """)
    }
}
