public import Contracts
import OrderedCollections
public import Records
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
        /// The moment that is held for it.
        public let at: Instant
        /// What would be best if no other wake were in its way.
        public let aim: Instant
        /// Of the aim, in thousandths.
        public let score: Int
        public let opinions: [Opinion]
    }

    /// A slot that went by without a refresh, and the factor that decided that.
    public struct Skipped: Sendable, Equatable {
        public let slot: Instant
        public let factor: FetchFactor
        public let reason: String
    }

    /// Where a push would serve an app better.
    public enum Advice: String, Word {
        /// Most refreshes find nothing new.
        case sporadicContent
        /// What the user sees is much older than the app asks for.
        case criticalContent
    }

    /// Nil while the app must wait, wants no refresh, or one is under way.
    public let next: Next?
    /// Every factor now.
    public let opinions: [Opinion]
    /// How likely the user opens the app, for each hour of the week from Monday 00:00, in thousandths of the likeliest.
    public let usage: [Int]
    /// The slots of the last 24 h in which the app waited, oldest first.
    public let skipped: [Skipped]
    public let advice: [Advice]
}

/// A wait of an app, and since when it was in force.
public struct PastWait: Sendable, Equatable {
    public let from: Instant
    /// Nil where no refresh was wanted.
    public let wait: Wait?

    public init(from: Instant, wait: Wait?) {
        self.from = from
        self.wait = wait
    }
}

extension FetchMachine {
    /// The forecast for an app; nil where it is not installed.
    ///
    /// - Parameter waits: what the app waited for in the last 24 h, oldest first; the history says it, the state does not.
    public func forecast(
        _ name: String, _ key: AggregateKey, now: Instant, policy: FetchPolicy, waits: [PastWait] = []
    ) -> Forecast? {
        guard let app = apps[name] else { return nil }
        let judgement = Judgement(device: self, app: app, policy: policy)
        let peak = app.usage.peak
        return Forecast(
            next: app.wait?.at.map { at in
                let aim = app.wait?.aim ?? at
                return Forecast.Next(
                    at: at, aim: aim, score: judgement.score(at: aim), opinions: judgement.opinions(at: at))
            },
            opinions: judgement.opinions(at: now),
            usage: peak > 0
                ? app.usage.hours.map { $0 * 1000 / peak } : Array(repeating: 0, count: UsageProfile.hoursOfWeek),
            skipped: judgement.skipped(SlotGrid(key: key, policy: policy), waits, now: now),
            advice: Forecast.Advice.allCases.filter { app.warrants($0) })
    }
}

extension ScheduledApp {
    fileprivate func warrants(_ advice: Forecast.Advice) -> Bool {
        switch advice {
        case .sporadicContent:
            return standing.refreshes >= 8 && standing.newDataShare < 250
        case .criticalContent:
            guard case .atLeast(let interval) = interval, contentAges.known >= 5, let mean = contentAges.mean else {
                return false
            }
            return mean > max(interval, .minutes(15)) * 2
        }
    }
}

extension Judgement {
    fileprivate func opinions(at moment: Instant) -> [Forecast.Opinion] {
        FetchFactor.allCases.map { Forecast.Opinion(factor: $0, verdict: verdict($0, at: moment)) }
    }

    /// The slots since yesterday in which the app waited, by what it waited for then.
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
        if let blocker = wait.blockers.first { return (blocker, "it had to wait: \(blocker.rawValue)") }
        if moment < wait.earliest { return (.rateLimit, "the interval had not passed") }
        if let fundedAt = wait.fundedAt, moment < fundedAt {
            return (.budgets, "what the day allowed so far was spent")
        }
        guard let at = wait.at, moment < at else { return nil }
        if let aim = wait.aim, moment >= aim {
            return wait.ceiling == nil
                ? (.rateLimit, "wakes of the device are spaced") : (.herd, "its moment was taken by other wakes")
        }
        return (app.usage.isLearned ? .usage : .deviceActivity, "a later slot was worth more")
    }
}
