import Reports
public import Scenarios
import Timeline

// The evaluation of expectations.
extension ExpectationOutcome {
    init(_ expectation: Expectation, _ scenario: Scenario, _ figures: Figures) {
        let indexes = scenario.apps.indices.filter { expectation.app ?? scenario.apps[$0].id == scenario.apps[$0].id }
        let cases = Cases(
            expectation, indexes.map { figures[$0] }, lateAfter: scenario.lateAfter.interval)
        let within = expectation.within?.interval
        let holds = cases.durations.map { durations in
            durations.count { duration in within.map { duration <= $0 } ?? true }
        }
        let count = holds ?? cases.count
        var isMet = true
        var texts: [String] = []
        if let limit = expectation.atLeast {
            isMet = isMet && !limit.exceeds(count, of: cases.all)
            texts.append("at least \(limit)")
        }
        if let limit = expectation.atMost {
            isMet = isMet && !limit.isBelow(count, of: cases.all)
            texts.append("at most \(limit)")
        }
        var measured: [String] = ["\(count) of \(cases.all)"]
        // A case without an end takes longer than any limit.
        let sorted = (cases.durations ?? []).sorted() + Array(repeating: .endless, count: cases.missing)
        for (percent, limit) in expectation.percentiles {
            texts.append("p\(percent) at most \(limit)")
            guard let value = sorted.percentile(percent) else {
                // No late push is what an expectation of late pushes wants. Others need a measured case.
                isMet = isMet && expectation.what == .pushesLate
                measured.append("p\(percent) without a case")
                continue
            }
            isMet = isMet && value <= limit.interval
            measured.append("p\(percent) \(value == .endless ? "never" : "\(TimeSpan(value))")")
        }
        self.init(
            expectation: expectation, holds: count, all: cases.all, isMet: isMet,
            text: "\(expectation.what.rawValue): \(measured.joined(separator: ", "))"
                + (texts.isEmpty ? "" : " (expected \(texts.joined(separator: ", ")))"))
    }
}

/// The cases of an expectation.
private struct Cases {
    /// The duration of each case that holds; nil for cases without one.
    var durations: [Interval]?
    /// The number of cases that hold, if they have no duration.
    var count = 0
    /// The number that a share refers to.
    var all = 0
    /// The cases in ``all`` that did not end, for percentiles.
    var missing: Int { isOfEnds ? max(0, all - (durations?.count ?? 0)) : 0 }
    private let isOfEnds: Bool

    init(_ expectation: Expectation, _ apps: [AppFigures], lateAfter: Interval) {
        isOfEnds = expectation.what != .pushesLate
        func pushes(_ contents: [Send.Content]) -> [PushFigures] { apps.flatMap { app in contents.map { app[$0] } } }
        func take(_ contents: [Send.Content]) {
            let pushes = pushes(contents)
            durations = pushes.flatMap(\.delays)
            all = pushes.reduce(0) { $0 + (expectation.of == .sent ? $1.sent : $1.delivered) }
        }
        let everything: [Send.Content] = [.alert, .silent, .alertWithContent, .pushToTalk, .voip]
        switch expectation.what {
        case .alertsShown: take([.alert, .alertWithContent])
        case .silentPushesHandled: take([.silent])
        case .pushesArrived: take(everything)
        case .pushesLate:
            take(everything)
            durations = durations?.filter { $0 > lateAfter }
        case .pushesNeverArrived:
            let pushes = pushes(everything)
            count = pushes.reduce(0) { $0 + $1.never.values.reduce(0, +) }
            all = pushes.reduce(0) { $0 + (expectation.of == .sent ? $1.sent : $1.delivered) }
        case .contentAgeAtOpening:
            durations = apps.flatMap(\.contentAges)
            all = durations?.count ?? 0
        case .refreshes:
            durations = apps.flatMap(\.refreshes)
            all = durations?.count ?? 0
        case .wakes:
            count = apps.reduce(0) { $0 + $1.wakes.values.reduce(0, +) }
            all = count
        case .wakesRefused:
            count = apps.reduce(0) { $0 + $1.wakesRefused.values.reduce(0, +) }
            all = count
        case .kills:
            count = apps.reduce(0) { $0 + $1.kills.values.reduce(0, +) }
            all = count
        case .transfersCompleted:
            durations = apps.flatMap(\.transfers)
            all = apps.reduce(0) { $0 + $1.transfersStarted }
        }
    }
}

extension Limit {
    /// Whether the limit is more than a number of cases. A share of no cases is not reached.
    fileprivate func exceeds(_ count: Int, of all: Int) -> Bool {
        switch self {
        case .count(let limit): count < limit
        case .share(let share): all == 0 || count * 10_000 < share.basisPoints * all
        }
    }

    /// Whether the limit is less than a number of cases.
    fileprivate func isBelow(_ count: Int, of all: Int) -> Bool {
        switch self {
        case .count(let limit): count > limit
        case .share(let share): all > 0 && count * 10_000 > share.basisPoints * all
        }
    }
}

extension Limit: CustomStringConvertible {
    public var description: String {
        switch self {
        case .count(let count): String(count)
        case .share(let share): share.description
        }
    }
}

extension Interval {
    /// Longer than every duration of a simulation.
    fileprivate static let endless = Interval.milliseconds(.max)
}
