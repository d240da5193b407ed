import Contracts
import FetchCore
import OrderedCollections
import Records
import Timeline

/// The forecast of an app's next refresh, with the reasons. Scores are from 0 to 1.
struct ForecastDocument: Record {
    enum FactorResultName: String, WireEnum { case mustWait, score }

    struct Factor: Record {
        var factor = FetchFactor.battery
        var reason: String?
        var score: Double?
        /// The time at which it stops blocking; absent if only a change ends it.
        var until: Instant?
        var result = FactorResultName.score

        init(_ evaluated: Forecast.EvaluatedFactor) {
            factor = evaluated.factor
            switch evaluated.result {
            case .mustWait(let reason, let until):
                result = .mustWait
                self.reason = reason
                self.until = until
            case .score(let score): self.score = Double(score) / 1000
            }
        }
    }

    struct Next: Record {
        /// The best time without the limit of the suite and the other wakes of the device.
        var aim = Instant.epoch
        /// The reserved time.
        var at = Instant.epoch
        /// Every factor at the reserved time.
        var factors: [Factor] = []
        /// The score of the best time.
        var score = 0.0
    }

    struct Skipped: Record {
        var factor = FetchFactor.battery
        var reason = ""
        var slot = Instant.epoch
    }

    /// Advice that a push would serve the app better.
    struct Advice: Record {
        var advice = Forecast.Advice.sporadicContent
        var detail = ""

        init(_ advice: Forecast.Advice) {
            self.advice = advice
            detail =
                switch advice {
                case .sporadicContent:
                    "Most refreshes find no new data. Send a silent push when there is new content: it costs less and arrives sooner."
                case .criticalContent:
                    "Users see content that is much older than the interval, because the system decides when to refresh. Send urgent content by push."
                }
        }
    }

    /// The reliability of the app's refreshes and its effect.
    struct Results: Record {
        /// The reliability score. Quick refreshes with new data raise it. Slow, failed and empty ones lower it.
        var reliability = 0.0
        /// The share of recent refreshes with new data.
        var newDataShare = 0.0
        /// The minimum gap between two refreshes that follows from the score.
        var minimumGapSeconds = Interval.zero

        init(_ reliability: ReliabilityScore, _ policy: FetchPolicy) {
            self.reliability = Double(reliability.value) / 1000
            newDataShare = Double(reliability.newDataShare) / 1000
            minimumGapSeconds = reliability.minimumGap(policy.floor)
        }
    }

    /// The age of the content when the user opened the app.
    struct ContentAge: Record {
        /// The age at the last opening; null if there was no content.
        var lastSeconds: Nullable<Interval> = nil
        /// The mean of about the last 64 openings with content; null before the first.
        var meanSeconds: Nullable<Interval> = nil
        var openings = 0
        /// The openings before the first refresh with new data.
        var withoutContent = 0

        init(_ ages: ContentAges) {
            openings = ages.openings
            withoutContent = ages.withoutContent
            meanSeconds = ages.mean
            lastSeconds = ages.last
        }
    }

    var advice: [Advice] = []
    var app = ""
    var budgets = BudgetsDocument.Pair()
    var contentAge = ContentAge()
    /// Every factor now.
    var factors: [Factor] = []
    /// False for an app without the mode `fetch`, and for the interval `never`.
    var inEffect = false
    var interval = FetchInterval.never
    var nextFetch: Nullable<Next> = nil
    var results = Results()
    /// The refresh in progress.
    var running: Nullable<String> = nil
    var skipped: [Skipped] = []
    /// The likelihood of an opening in each hour of the week, relative to the likeliest, from Monday 00:00 local time.
    var usage: [Double] = []
    /// The limit of wakes per second of the whole suite; null if there is none.
    var wakesPerSecond: Nullable<Int> = nil

    init(_ name: String, _ device: FetchMachine, _ forecast: Forecast, now: Instant, _ policy: FetchPolicy) {
        let app = device.apps[name] ?? ScheduledApp()
        self.app = name
        budgets = BudgetsDocument.Pair(app, device, now: now, policy)
        results = Results(app.reliability, policy)
        contentAge = ContentAge(app.contentAges)
        advice = forecast.advice.map(Advice.init)
        wakesPerSecond = policy.ceiling
        interval = app.interval
        inEffect = app.fetches(on: policy.profile(of: device)) && app.interval != .never
        running = app.running?.fetch
        if let next = forecast.next {
            var document = Next()
            document.at = next.at
            document.aim = next.aim
            document.score = Double(next.score) / 1000
            document.factors = next.factors.map(Factor.init)
            nextFetch = document
        }
        factors = forecast.factors.map(Factor.init)
        usage = forecast.usage.map { Double($0) / 1000 }
        skipped = forecast.skipped.map { skip in
            var document = Skipped()
            document.slot = skip.slot
            document.factor = skip.factor
            document.reason = skip.reason
            return document
        }
    }
}
