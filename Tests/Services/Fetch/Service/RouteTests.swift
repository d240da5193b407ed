import Contracts
import Foundation
import Postgres
import Records
import TestSupport
import Testing
import Timeline

@Suite("Refreshes over HTTP", .tags(.database, .processes), .timeLimit(.minutes(5))) struct FetchRoutes {
    @Test func `an interval leads to a refresh at its forecast time`() async throws {
        let quick = [
            "--fetch-floor-seconds", "1", "--fetch-slot-seconds", "1", "--fetch-jitter-seconds", "0",
            "--fetch-device-energy-joules", "2", "--fetch-wakes-per-second", "50",
        ]
        try await FetchFixture.run(quick) { fixture in
            // With the clock stopped, the refresh is not due before the forecast is read.
            try await fixture.freeze()
            let position = try await fixture.device("d1")
            let set = try await fixture.send("PUT", "d1/apps/a/minimum-interval", #"{"interval":1}"#, after: position)
            #expect(set.status == 200)
            #expect(set.json["inEffect"]?.bool == true)
            let forecast = try await fixture.send("GET", "d1/apps/a/forecast", after: set.position)
            try await fixture.goOn()
            let fetch = try await fixture.due("d1")
            let running = try await fixture.send("GET", "d1/apps/a/fetches/\(fetch)")
            #expect(running.json["result"] == .null)
            let before = try #require(running.etag)
            #expect(try await fixture.send("GET", "d1/apps/a/fetches/\(fetch)", unless: before).status == 304)
            // It was due at the time in the response and in the forecast.
            #expect(running.json["dueAt"] == set.json["nextFetch"])
            #expect(forecast.json["nextFetch"]?["at"] == running.json["dueAt"])

            let deadline = RealClock().now + .seconds(Int64(30))
            try await fixture.tell(
                LifecycleEvent.AppWoken(
                    app: "a", callbacks: [], deadline: deadline, from: .suspended, limit: .seconds(Int64(30)),
                    reason: .fetch, request: fetch, wake: "w"), of: "d1")
            let done = try await fixture.tell(
                LifecycleEvent.WakeCompleted(
                    app: "a", bytesReceived: 81_234, reason: .fetch, request: fetch, result: .newData, wake: "w"),
                of: "d1")
            let ended = try await fixture.send("GET", "d1/apps/a/fetches/\(fetch)", after: done, unless: before)
            #expect(ended.status == 200)
            let after = try #require(ended.etag)
            #expect(try await fixture.send("GET", "d1/apps/a/fetches/\(fetch)", unless: after).status == 304)
            #expect(ended.json["result"]?.string == "newData")
            #expect(ended.json["startedAt"]?.string != nil)
            #expect(try #require(ended.json["elapsedSeconds"]?.double) >= 0)
            #expect(ended.json["bytesReceived"]?.int == 81_234)
            let spent = try #require(ended.json["energyMillijoules"]?.int)
            #expect(spent >= 581, "the energy of the wake and the radio")
            #expect(try await fixture.send("GET", "d1/apps/a/fetches/unknown").code == "not_found")

            let budgets = try await fixture.send("GET", "d1/budgets").json
            #expect(budgets["device"]?["energy"]?["spent"]?.int == spent)
            #expect(budgets["device"]?["energy"]?["limit"]?.int == 2000)
            #expect(budgets["apps"]?["a"]?["data"]?["spent"]?.int == 81_234)
            #expect(budgets["apps"]?["a"]?["data"]?["limit"]?.int == 20_000_000)
            #expect(try #require(budgets["device"]?["energy"]?["allowed"]?.int) >= 500)
            #expect(try await fixture.send("GET", "nobody/budgets").code == "device_not_registered")
            let next = try await fixture.send("GET", "d1/apps/a/forecast").json
            #expect(next["budgets"]?["app"]?["data"]?["spent"]?.int == 81_234)
            #expect(next["results"]?["newDataShare"]?.double == 0.562)
            #expect(next["wakesPerSecond"]?.int == 50)
            #expect(next["advice"]?.items == [])
        }
    }

    @Test func `the forecast has content ages and skipped slots`() async throws {
        let quick = ["--fetch-slot-seconds", "1", "--fetch-jitter-seconds", "0", "--fetch-wakes-per-second", "0"]
        try await FetchFixture.run(quick) { fixture in
            let position = try await fixture.device("d6")
            let set = try await fixture.send("PUT", "d6/apps/a/minimum-interval", #"{"interval":900}"#, after: position)
            #expect(set.status == 200)
            try await fixture.tell(LifecycleEvent.AppLaunched(app: "a", callbacks: []), of: "d6")
            let seen = try await fixture.tell(
                LifecycleEvent.AppBackgrounded(app: "a", callbacks: [], cause: .home, taskTime: .zero), of: "d6")
            var forecast = try await fixture.send("GET", "d6/apps/a/forecast", after: seen).json
            #expect(forecast["contentAge"]?["openings"]?.int == 1)
            #expect(forecast["contentAge"]?["withoutContent"]?.int == 1)
            #expect(forecast["contentAge"]?["meanSeconds"] == .null)
            #expect(forecast["wakesPerSecond"] == .null)
            try await eventually(within: 60, describe: "a slot was skipped") {
                let skipped = try await fixture.send("GET", "d6/apps/a/forecast").json["skipped"]?.items ?? []
                return skipped.contains { $0["factor"]?.string == "rateLimit" }
            }
            forecast = try await fixture.send("GET", "d6/apps/a/forecast").json
            let slots = (forecast["skipped"]?.items ?? []).compactMap { $0["slot"]?.string }
            #expect(slots == slots.sorted() && !slots.isEmpty)
        }
    }

    @Test func `the history is paged newest first`() async throws {
        try await FetchFixture.run { fixture in
            var position = try await fixture.device("d2")
            var fetches: [String] = []
            for _ in 0..<5 {
                let simulated = try await fixture.send("POST", "d2/apps/a/simulate-fetch", after: position)
                #expect(simulated.status == 202)
                let fetch = try #require(simulated.json["fetch"]?.string)
                fetches.insert(fetch, at: 0)
                position = try await fixture.tell(
                    LifecycleEvent.WakeRefused(app: "a", reason: .fetch, refusal: .deviceOff, request: fetch), of: "d2")
            }
            let running = try await fixture.send("POST", "d2/apps/a/simulate-fetch", after: position)
            fetches.insert(try #require(running.json["fetch"]?.string), at: 0)
            #expect(try await fixture.send("POST", "d2/apps/a/simulate-fetch").code == "fetch_running")

            var found: [String] = []
            var cursor = ""
            repeat {
                let page = try await fixture.send("GET", "d2/apps/a/fetches?limit=2\(cursor)")
                found += (page.json["items"]?.items ?? []).compactMap { $0["fetch"]?.string }
                cursor = page.json["next"]?.string.map { "&cursor=\($0)" } ?? ""
            } while !cursor.isEmpty
            #expect(found == fetches)
            let last = try await fixture.send("GET", "d2/apps/a/fetches/\(fetches[5])")
            #expect(last.json["refusal"]?.string == "deviceOff")
            #expect(last.json["result"]?.string == "refused")
            #expect(try await fixture.send("GET", "d2/apps/a/fetches?limit=0").code == "invalid_query")
        }
    }

    @Test func `the forecast has every factor`() async throws {
        try await FetchFixture.run { fixture in
            let position = try await fixture.device("d3")
            let set = try await fixture.send(
                "PUT", "d3/apps/a/minimum-interval", #"{"interval":"minimum"}"#, after: position)
            var forecast = try await fixture.send("GET", "d3/apps/a/forecast")
            #expect(forecast.json["nextFetch"]?["at"] == set.json["nextFetch"])
            #expect(forecast.json["nextFetch"]?["factors"]?.items?.count == FetchFactor.allCases.count)
            #expect(forecast.json["usage"]?.items?.count == 168)
            var conditions = Conditions()
            conditions.lowPowerMode = true
            let saving = try await fixture.tell(LifecycleEvent.ConditionsChanged(conditions: conditions), of: "d3")
            forecast = try await fixture.send("GET", "d3/apps/a/forecast", after: saving)
            #expect(forecast.json["nextFetch"] == .null)
            let factors = forecast.json["factors"]?.items ?? []
            #expect(factors.map { $0["factor"]?.string } == FetchFactor.allCases.map(\.rawValue))
            let blocking = factors.filter { $0["result"]?.string == "mustWait" }.compactMap { $0["factor"]?.string }
            #expect(blocking == ["lowPowerMode", "rateLimit"])
            #expect(try await fixture.send("POST", "d3/apps/a/simulate-fetch").code == "low_power_mode")
        }
    }

    @Test func `wrong calls get their problem codes`() async throws {
        try await FetchFixture.run { fixture in
            var position = try await fixture.device("d4", modes: [])
            let set = try await fixture.send("PUT", "d4/apps/a/minimum-interval", #"{"interval":900}"#, after: position)
            #expect(set.json["inEffect"]?.bool == false)
            #expect(set.json["nextFetch"] == .null)
            #expect(try await fixture.send("POST", "d4/apps/a/simulate-fetch").code == "mode_not_declared")
            for wrong in [#"{"interval":-1}"#, #"{"interval":"often"}"#, "{}", #"{"interval":900,"more":1}"#] {
                let answer = try await fixture.send("PUT", "d4/apps/a/minimum-interval", wrong)
                #expect(answer.status == 422 && answer.code == "invalid_document", "\(wrong)")
            }
            let interval = #"{"interval":900}"#
            #expect(try await fixture.send("PUT", "d4/apps/b/minimum-interval", interval).code == "app_not_installed")
            #expect(
                try await fixture.send("PUT", "d9/apps/a/minimum-interval", interval).code == "device_not_registered")
            for route in ["forecast", "fetches", "fetches/f"] {
                #expect(try await fixture.send("GET", "d9/apps/a/\(route)").code == "device_not_registered")
                #expect(try await fixture.send("GET", "d4/apps/b/\(route)").code == "app_not_installed")
            }
            let suspended = try await fixture.tell(LifecycleEvent.AppSuspended(app: "a", callbacks: []), of: "d4")
            let late = try await fixture.send("PUT", "d4/apps/a/minimum-interval", interval, after: suspended)
            #expect(late.status == 409 && late.code == "app_not_running")
            #expect(try await fixture.send("DELETE", "d4/apps/a/task-requests").code == "app_not_running")
            position = try await fixture.device("d5", .ios6)
            let old = try await fixture.send("PUT", "d5/apps/a/minimum-interval", interval, after: position)
            #expect(old.status == 409 && old.code == "unsupported_on_profile")
        }
    }
}

extension FetchFixture {
    /// Stops the time of the suite.
    func freeze() async throws {
        let now = "virtual_epoch = bus.real_now(), real_epoch = bus.real_now()"
        _ = try await pool.execute(Query(Statement("UPDATE bus.clock SET is_virtual = true, rate = 0, \(now)")))
    }

    /// Continues the time of the suite at real speed.
    func goOn() async throws { _ = try await pool.execute(Query(Statement("SELECT bus.set_clock(1, false)"))) }

    /// Waits until a refresh of the app is in progress and returns its identifier.
    func due(_ device: String) async throws -> String {
        let path = "\(device)/apps/a/fetches"
        try await eventually(within: 60, describe: "a refresh is due") {
            try await send("GET", path).json["items"]?[0]?["fetch"] != nil
        }
        return try #require(try await send("GET", path).json["items"]?[0]?["fetch"]?.string)
    }
}
