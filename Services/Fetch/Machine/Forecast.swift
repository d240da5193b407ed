public import Contracts
import OrderedCollections
public import Records
public import Timeline

/// A forecast of an app's next refresh at a time, with its reasons. Under unchanged conditions it comes true.
public struct Forecast: Sendable, Equatable {
    /// A factor with its verdict.
    public struct EvaluatedFactor: Sendable, Equatable {
        public let factor: FetchFactor
        public let result: FactorResult
    }

    /// The slot that was chosen.
    public struct Next: Sendable, Equatable {
        /// The reserved time.
        public let at: Instant
        /// The best time without other wakes.
        public let aim: Instant
        /// The score of the best time, in thousandths.
        public let score: Int
        /// Every factor at the reserved time.
        public let factors: [EvaluatedFactor]
    }

    /// A slot that passed without a refresh, with the deciding factor.
    public struct Skipped: Sendable, Equatable {
        public let slot: Instant
        public let factor: FetchFactor
        public let reason: String
    }

    /// Advice that a push would serve the app better.
    public enum Advice: String, WireEnum {
        /// Most refreshes find no new data.
        case sporadicContent
        /// Users see content that is much older than the interval.
        case criticalContent
    }

    /// The next refresh; nil while factors block it, the app wants none, or one is in progress.
    public let next: Next?
    /// Every factor now.
    public let factors: [EvaluatedFactor]
    /// The likelihood of an opening in each hour of the week from Monday 00:00, in thousandths of the likeliest.
    public let usage: [Int]
    /// The slots of the last 24 h in which the app waited, oldest first.
    public let skipped: [Skipped]
    /// The advice for the app.
    public let advice: [Advice]
}

/// A wait of an app and the time from which it applied.
public struct PastWait: Sendable, Equatable {
    public let from: Instant
    /// The wait; nil if the app wanted no refresh.
    public let wait: Wait?

    public init(from: Instant, wait: Wait?) {
        self.from = from
        self.wait = wait
    }
}

extension FetchMachine {
    /// Returns the forecast for an app; nil if it is not installed.
    ///
    /// - Parameter waits: The waits of the last 24 h, oldest first. They come from the log, as the state does not contain them.
    public func forecast(
        _ name: String, _ key: AggregateKey, now: Instant, policy: FetchPolicy, waits: [PastWait] = []
    ) -> Forecast? {
        guard let app = apps[name] else { return nil }
        let evaluation = Evaluation(device: self, app: app, policy: policy)
        let peak = app.usage.peak
        return Forecast(
            next: app.wait?.at.map { at in
                let aim = app.wait?.aim ?? at
                return Forecast.Next(
                    at: at, aim: aim, score: evaluation.score(at: aim), factors: evaluation.factors(at: at))
            },
            factors: evaluation.factors(at: now),
            usage: peak > 0
                ? app.usage.hours.map { $0 * 1000 / peak } : Array(repeating: 0, count: UsageProfile.hoursOfWeek),
            skipped: evaluation.skipped(SlotGrid(key: key, policy: policy), waits, now: now),
            advice: Forecast.Advice.allCases.filter { app.warrants($0) })
    }
}

extension ScheduledApp {
    fileprivate func warrants(_ advice: Forecast.Advice) -> Bool {
        switch advice {
        case .sporadicContent:
            return reliability.refreshes >= 8 && reliability.newDataShare < 250
        case .criticalContent:
            guard case .atLeast(let interval) = interval, contentAges.known >= 5, let mean = contentAges.mean else {
                return false
            }
            return mean > max(interval, .minutes(15)) * 2
        }
    }
}

extension Evaluation {
    fileprivate func factors(at moment: Instant) -> [Forecast.EvaluatedFactor] {
        FetchFactor.allCases.map { Forecast.EvaluatedFactor(factor: $0, result: result($0, at: moment)) }
    }

    /// Returns the slots of the last 24 h in which the app waited, with the deciding factor.
    fileprivate func skipped(_ grid: SlotGrid, _ waits: [PastWait], now: Instant) -> [Forecast.Skipped] {
        var skipped: [Forecast.Skipped] = []
        var index = grid.first(from: now - .hours(24))
        var next = 0
        while case let moment = grid.moment(index), moment < now {
            while next < waits.count, waits[next].from <= moment { next += 1 }
            if next > 0, let wait = waits[next - 1].wait, let (factor, reason) = why(moment, wait) {
                skipped.append(Forecast.Skipped(slot: moment, factor: factor, reason: reason))
            }
            index += 1
        }
        return skipped
    }

    private func why(_ moment: Instant, _ wait: Wait) -> (FetchFactor, String)? {
        if let blocker = wait.blockers.first { return (blocker, "blocked by \(blocker.rawValue)") }
        if moment < wait.earliest { return (.rateLimit, "the interval had not passed") }
        if let fundedAt = wait.fundedAt, moment < fundedAt {
            return (.budgets, "the budget for this part of the day was spent")
        }
        guard let at = wait.at, moment < at else { return nil }
        if let aim = wait.aim, moment >= aim {
            return wait.ceiling == nil
                ? (.rateLimit, "it was too close to another wake of the device")
                : (.herd, "other wakes had reserved this time")
        }
        return (app.usage.isLearned ? .usage : .deviceActivity, "a later slot had a better score")
    }
}
