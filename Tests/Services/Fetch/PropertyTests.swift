import Contracts
import FetchMachine
import Lives
import Machines
import OrderedCollections
import Records
import TestSupport
import Testing
import Timeline

/// Random lives of a device. A failure names its seed.
@Suite(.aside) struct FetchProperties {
    @Test func anyLifeKeepsTheLaws() async throws {
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

    @Test func taskRequestsKeepTheirLawsInAnyLife() async throws {
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
        #expect(runs.isEnough, "enough happened: \(runs)")
    }

    @Test func everyMomentThatIsNamedForATaskComesTrue() async throws {
        var held = 0
        for seed in UInt64(1)...36 {
            var life = FetchLife(seededRandom(seed * 104_729))
            try life.begin()
            for _ in 0..<120 {
                try life.step()
                for app in FetchLife.apps { held += try TaskLaws.holdToItsWord(app, life) ? 1 : 0 }
            }
        }
        #expect(held > 100, "enough moments were named: \(held)")
    }

    @Test func everyForecastComesTrueUnderUnchangedConditions() async throws {
        var held = 0
        try await propertyTest(seedsFrom: 1000, count: 48) { random in
            var life = FetchLife(random)
            try life.begin()
            for step in 0..<60 {
                try life.step()
                held += try checkForecasts(life, blockedFor: step % 8 == 0 ? .days(3) : .days(1))
            }
        }
        #expect(held > 500, "enough forecasts named a moment: \(held)")
    }

    private func checkState(_ life: FetchLife) throws {
        let device = life.device
        if let next = device.nextDeadline { try #require(next > life.now, "no deadline is left behind") }
        for app in device.apps.values {
            try #require(app.running == nil || app.wait == nil, "an app waits for nothing while it is refreshed")
            if let at = app.wait?.at, let wait = app.wait { try #require(at >= wait.earliest && wait.blockers.isEmpty) }
        }
        try #require(FetchMachine(binary: device.binary)?.binary == device.binary, "the stored form reads back")
    }

    /// At most one refresh of an app at a time, and never sooner after the last one than the floor.
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
                try #require(running.removeValue(forKey: app) == record.fetch, "only what runs ends")
                ended[app] = event.time
            case .appForgotten(let forgotten): ended[forgotten.app ?? ""] = nil
            default: break
            }
        }
    }

    /// Lets time pass in a copy of the life: each refresh comes at the moment that the forecast names, or never.
    ///
    /// - Returns: how many forecasts named a moment.
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
            try #require(next.opinions.allSatisfy { if case .score = $0.verdict { true } else { false } })
            // What is spent meanwhile by what runs already is the one condition that time alone can change.
            if first?.time != next.at, try isPutOff(app, before: next.at, events) { continue }
            try #require(first?.time == next.at, "at the forecast, and not before")
        }
        return forecasts.count { $0.next != nil }
    }

    /// Whether it was said before a moment that the budgets put the app's refresh off beyond it.
    private func isPutOff(_ app: String, before moment: Instant, _ events: [Event]) throws -> Bool {
        try events.contains { event in
            guard event.type == FetchEvent.RefreshScheduled.type, event.app == app, event.time < moment else {
                return false
            }
            return try FetchEvent.RefreshScheduled(jsonBytes: event.data).fundedAt.map { $0 > moment } ?? false
        }
    }
}
