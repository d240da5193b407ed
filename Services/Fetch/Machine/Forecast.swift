public import Contracts
import OrderedCollections
public import Timeline

/// What an app's next refresh depends on, as of a moment. Under unchanged conditions it comes true.
public struct Forecast: Sendable, Equatable {
    /// A factor with what it says.
    public struct Opinion: Sendable, Equatable {
        public let factor: FetchFactor
        public let verdict: Verdict
    }

    /// The slot that was chosen.
    public struct Next: Sendable, Equatable {
        public let at: Instant
        /// In thousandths.
        public let score: Int
        public let opinions: [Opinion]
    }

    /// A slot that went by without a refresh, and the factor that decided that.
    public struct Skipped: Sendable, Equatable {
        public let slot: Instant
        public let factor: FetchFactor
        public let reason: String
    }

    /// Nil while the app must wait, wants no refresh, or one is under way.
    public let next: Next?
    /// Every factor now.
    public let opinions: [Opinion]
    /// How likely the user opens the app, for each hour of the week from Monday 00:00, in thousandths of the likeliest.
    public let usage: [Int]
    /// The slots of the last 24 h in which the app waited, oldest first.
    public let skipped: [Skipped]
}

extension FetchMachine {
    /// The forecast for an app; nil where it is not installed.
    public func forecast(_ name: String, _ key: AggregateKey, now: Instant, policy: FetchPolicy) -> Forecast? {
        guard let app = apps[name] else { return nil }
        let judgement = Judgement(device: self, app: app, policy: policy)
        let peak = app.usage.peak
        return Forecast(
            next: app.wait?.at.map { at in
                Forecast.Next(at: at, score: judgement.score(at: at), opinions: judgement.opinions(at: at))
            },
            opinions: judgement.opinions(at: now),
            usage: peak > 0
                ? app.usage.hours.map { $0 * 1000 / peak } : Array(repeating: 0, count: UsageProfile.hoursOfWeek),
            skipped: judgement.skipped(SlotGrid(key: key, policy: policy), now: now))
    }
}

extension Judgement {
    fileprivate func opinions(at moment: Instant) -> [Forecast.Opinion] {
        FetchFactor.allCases.map { Forecast.Opinion(factor: $0, verdict: verdict($0, at: moment)) }
    }

    /// The slots since yesterday in which the app waited, by what it waited for then.
    fileprivate func skipped(_ grid: SlotGrid, now: Instant) -> [Forecast.Skipped] {
        var skipped: [Forecast.Skipped] = []
        var index = grid.first(from: now - .hours(24))
        while case let moment = grid.moment(index), moment < now {
            if let wait = app.pastWaits.last(where: { $0.from <= moment })?.wait,
                let (factor, reason) = why(moment, wait)
            {
                skipped.append(Forecast.Skipped(slot: moment, factor: factor, reason: reason))
            }
            index += 1
        }
        return skipped
    }

    private func why(_ moment: Instant, _ wait: Wait) -> (FetchFactor, String)? {
        if let blocker = wait.blockers.first { return (blocker, "it had to wait: \(blocker.rawValue)") }
        if moment < wait.earliest { return (.rateLimit, "the interval had not passed") }
        guard let at = wait.at, moment < at else { return nil }
        return (app.usage.isLearned ? .usage : .deviceActivity, "a later slot was worth more")
    }
}
