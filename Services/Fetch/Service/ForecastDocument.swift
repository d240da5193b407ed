import Contracts
import FetchMachine
import Records
import Timeline

/// When the next refresh of an app is to be expected, and why not earlier. Scores are from 0 to 1.
struct ForecastDocument: Record {
    enum VerdictWord: String, Word { case mustWait, score }

    struct Factor: Record {
        var factor = FetchFactor.battery
        var verdict = VerdictWord.score
        var score: Double?
        var reason: String?
        /// When it stops to block; nil where only a change ends it.
        var until: Instant?

        init() {}

        init(_ opinion: Forecast.Opinion) {
            factor = opinion.factor
            switch opinion.verdict {
            case .mustWait(let reason, let until):
                verdict = .mustWait
                self.reason = reason
                self.until = until
            case .score(let score): self.score = Double(score) / 1000
            }
        }

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("factor", &factor)
            fields.omittable("reason", &reason)
            fields.omittable("score", &score)
            fields.omittable("until", &until)
            fields.field("verdict", &verdict)
        }
    }

    struct Next: Record {
        var at = Instant.epoch
        var score = 0.0
        /// Every factor at that moment.
        var factors: [Factor] = []

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("at", &at)
            fields.field("factors", &factors)
            fields.field("score", &score)
        }
    }

    struct Skipped: Record {
        var slot = Instant.epoch
        var factor = FetchFactor.battery
        var reason = ""

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("factor", &factor)
            fields.field("reason", &reason)
            fields.field("slot", &slot)
        }
    }

    var app = ""
    var interval = FetchInterval.never
    /// False for an app without the mode `fetch`, and for the interval `never`.
    var inEffect = false
    /// The refresh under way.
    var running: String?
    var nextFetch: Next?
    /// Every factor now.
    var factors: [Factor] = []
    /// For each hour of the week, from Monday 00:00 in the device's time zone, relative to the likeliest.
    var usage: [Double] = []
    var skipped: [Skipped] = []

    init() {}

    init(_ name: String, _ app: ScheduledApp, _ forecast: Forecast) {
        self.app = name
        interval = app.interval
        inEffect = app.declaresFetch && app.interval != .never
        running = app.running?.fetch
        if let next = forecast.next {
            var document = Next()
            document.at = next.at
            document.score = Double(next.score) / 1000
            document.factors = next.opinions.map(Factor.init)
            nextFetch = document
        }
        factors = forecast.opinions.map(Factor.init)
        usage = forecast.usage.map { Double($0) / 1000 }
        skipped = forecast.skipped.map { skip in
            var document = Skipped()
            document.slot = skip.slot
            document.factor = skip.factor
            document.reason = skip.reason
            return document
        }
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("app", &app)
        fields.field("factors", &factors)
        fields.field("inEffect", &inEffect)
        fields.field("interval", &interval)
        fields.field("nextFetch", &nextFetch)
        fields.field("running", &running)
        fields.field("skipped", &skipped)
        fields.field("usage", &usage)
    }
}
