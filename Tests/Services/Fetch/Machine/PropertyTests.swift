import Contracts
import FetchCore
import RandomScenarios
import Machines
import OrderedCollections
import Records
import MachineTesting
import Testing
import Timeline

/// Random scenarios of a device. A failure names its seed.
@Suite(.ownThread) struct FetchProperties {
    @Test func `every random scenario keeps the invariants`() async throws {
        try await propertyTest(count: 60) { random in
            var life = FetchLife(random)
            try life.begin()
            for _ in 0..<120 {
                try life.step()
                try checkState(life)
            }
            try checkLog(life.runtime.log, policy: life.policy)
            try #require(try life.runtime.foldCheck().isEmpty, "the state is the fold of its events")
        }
    }

    @Test func `task requests keep their invariants in every random scenario`() async throws {
        var runs = TaskLaws.Tally()
        for seed in UInt64(1)...72 {
            var life = FetchLife(seededRandom(seed * 7919))
            try life.begin()
            for _ in 0..<200 {
                try life.step()
                for app in life.device.apps.values { try TaskLaws.check(app) }
            }
            let end = life.now + .hours(2)
            try life.runtime.advance(to: end)
            runs.add(try TaskLaws.check(life.runtime.log, until: end, policy: life.policy))
        }
        #expect(runs.isEnough, "each invariant was tested: \(runs)")
    }

    @Test func `every forecast of a task comes true under unchanged conditions`() async throws {
        var held = 0
        for seed in UInt64(1)...36 {
            var life = FetchLife(seededRandom(seed * 104_729))
            try life.begin()
            for _ in 0..<120 {
                try life.step()
                for app in FetchLife.apps { held += try TaskLaws.holdToItsWord(app, life) ? 1 : 0 }
            }
        }
        #expect(held > 100, "there were enough forecasts: \(held)")
    }

    @Test func `every forecast of a refresh comes true under unchanged conditions`() async throws {
        var held = 0
        try await propertyTest(seedsFrom: 1000, count: 48) { random in
            var life = FetchLife(random)
            try life.begin()
            for step in 0..<60 {
                try life.step()
                held += try checkForecasts(life, blockedFor: step % 8 == 0 ? .days(3) : .days(1))
            }
        }
        #expect(held > 300, "there were enough forecasts: \(held)")
    }

    private func checkState(_ life: FetchLife) throws {
        let device = life.device
        if let next = device.nextDeadline { try #require(next > life.now, "no deadline is overdue") }
        for app in device.apps.values {
            try #require(app.running == nil || app.wait == nil, "an app does not wait during a refresh")
            if let at = app.wait?.at, let wait = app.wait { try #require(at >= wait.earliest && wait.blockers.isEmpty) }
        }
        try #require(FetchMachine(binary: device.binary)?.binary == device.binary, "the stored form reads back")
    }

    /// Checks that an app has one refresh at a time and that the floor passes after each.
    private func checkLog(_ log: [Event], policy: FetchPolicy) throws {
        var running: [String: String] = [:]
        var ended: [String: Instant] = [:]
        for event in log {
            switch try FetchEvent(type: event.type, version: event.version, data: event.data) {
            case .refreshDue(let due):
                let app = try #require(due.app)
                try #require(running.updateValue(due.fetch, forKey: app) == nil, "one refresh at a time")
                guard !due.simulated, let last = ended[app] else { continue }
                try #require(event.time >= last + policy.floor, "never more often than the floor")
            case .refreshRecorded(let record):
                let app = try #require(record.app)
                try #require(running.removeValue(forKey: app) == record.fetch, "only a refresh in progress ends")
                ended[app] = event.time
            case .appRemoved(let forgotten): ended[forgotten.app ?? ""] = nil
            default: break
            }
        }
    }

    /// Checks in a copy that each refresh comes at its forecast time or not at all. Returns the number of forecasts with
    /// a time.
    private func checkForecasts(_ life: FetchLife, blockedFor: Interval) throws -> Int {
        var forecasts: [(app: String, next: Forecast.Next?)] = []
        for (app, record) in life.device.apps where record.running == nil {
            let forecast = life.device.forecast(app, FetchLife.key, now: life.now, policy: life.policy)
            forecasts.append((app, try #require(forecast).next))
        }
        let horizon = forecasts.map { $0.next?.at ?? life.now + blockedFor }.max() ?? life.now
        var future = life.runtime
        let events = try future.advance(to: horizon)
        for (app, next) in forecasts {
            let first = events.first { $0.type == FetchEvent.RefreshDue.type && $0.app == app }
            guard let next else {
                let end = life.now + blockedFor
                try #require(first.map { $0.time > end } ?? true, "no refresh without a forecast")
                continue
            }
            try #require(next.factors.allSatisfy { if case .score = $0.result { true } else { false } })
            // Spending of a running task or refresh is the only condition that changes without an input.
            if first?.time != next.at, try isPutOff(app, before: next.at, events) { continue }
            try #require(first?.time == next.at, "at the forecast, and not before")
        }
        return forecasts.count { $0.next != nil }
    }

    /// Whether the budgets have delayed the refresh beyond this time, by an event before it.
    private func isPutOff(_ app: String, before moment: Instant, _ events: [Event]) throws -> Bool {
        try events.contains { event in
            guard event.type == FetchEvent.RefreshScheduled.type, event.app == app, event.time < moment else {
                return false
            }
            return try FetchEvent.RefreshScheduled(jsonBytes: event.data).fundedAt.map { $0 > moment } ?? false
        }
    }
}
