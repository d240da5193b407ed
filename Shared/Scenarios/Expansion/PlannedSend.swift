public import Timeline

/// One send of the provider to its audience.
public struct PlannedSend: Sendable, Hashable {
    /// When the provider begins to send.
    public let at: Instant
    /// The index in ``Provider/sends``.
    public let item: Int

    /// Returns the sends of a scenario in the order of their time, at most ``ScenarioPlan/mostSends``.
    static func all(of scenario: Scenario, seed: UInt64, in days: LocalDays, _ range: Range<Instant>) -> [PlannedSend] {
        var all: [PlannedSend] = []
        for day in days.days(overlapping: range) {
            for (item, send) in scenario.provider.sends.enumerated() where days.include(send.at.days, day) {
                var random = SeededRandom(seed: seed, .sends, device: -1, day: day, item: item)
                let first = send.at.time.drawn(&random)
                for number in 0..<send.times(from: first) {
                    let time = first + (send.every?.interval ?? .zero) * Int64(number)
                    let at = days.instant(time, on: day)
                    guard range.contains(at) else { continue }
                    all.append(PlannedSend(at: at, item: item))
                    if all.count == ScenarioPlan.mostSends { return all.sorted { ($0.at, $0.item) < ($1.at, $1.item) } }
                }
            }
        }
        return all.sorted { ($0.at, $0.item) < ($1.at, $1.item) }
    }
}

extension Send {
    /// Returns the number of sends of a day, if the first is at a time since midnight.
    func times(from first: Interval) -> Int {
        guard let every else { return 1 }
        let last = min(until.sinceMidnight, .milliseconds(86_399_999))
        return last < first ? 1 : Int((last - first).milliseconds / every.interval.milliseconds) + 1
    }
}

/// A push of the provider to one device.
public struct PlannedPush: Sendable, Hashable {
    public let at: Instant
    /// The index in ``ScenarioPlan/sends``.
    public let send: Int
    /// The index in ``Provider/sends``.
    public let item: Int
}

/// One occurrence of a fault.
public struct PlannedFault: Sendable, Equatable {
    public let at: Instant
    /// The end; equal to ``at`` for a fault without a duration.
    public let until: Instant
    public let kind: FaultKind
    /// The index in ``Scenario/faults``.
    public let item: Int

    static func all(of scenario: Scenario, seed: UInt64, in days: LocalDays, _ range: Range<Instant>) -> [PlannedFault]
    {
        var all: [PlannedFault] = []
        for day in days.days(overlapping: range) {
            for (item, fault) in scenario.faults.enumerated() where days.include(fault.at.days, day) {
                var random = SeededRandom(seed: seed, .faults, device: -1, day: day, item: item)
                let at = days.instant(fault.at.time.drawn(&random), on: day)
                guard let kind = fault.kind, range.contains(at) else { continue }
                let until = min(at + (fault.duration?.interval ?? .zero), range.upperBound)
                all.append(PlannedFault(at: at, until: until, kind: kind, item: item))
            }
        }
        return all.sorted { ($0.at, $0.item) < ($1.at, $1.item) }
    }
}
