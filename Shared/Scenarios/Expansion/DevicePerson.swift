import Timeline

/// The actions of a person with the apps of a device.
struct DevicePerson: Sendable {
    let device: PlannedDevice
    let group: Group
    let scenario: Scenario
    private let apps: [String]
    let seed: UInt64
    let days: LocalDays
    private let range: Range<Instant>
    private let clockSkews: [ClockSkew]

    /// The time from the home screen to the removal from the app switcher.
    private static let timeToForceQuit = Interval.seconds(3)
    /// The time from the home screen to the change of a permission.
    private static let timeToSettings = Interval.seconds(30)

    private struct Use {
        var at: Instant
        var app: Int
        var until: Instant
        var endsWithForceQuit: Bool
    }

    init(
        _ device: PlannedDevice, scenario: Scenario, seed: UInt64, days: LocalDays, range: Range<Instant>,
        clockSkews: [ClockSkew]
    ) {
        self.device = device
        group = scenario.people[device.group]
        self.scenario = scenario
        apps = scenario.apps.map(\.id)
        self.seed = seed
        self.days = days
        self.range = range
        self.clockSkews = clockSkews
    }

    /// Returns the actions of a day in order.
    func events(onDay day: Int) -> [DeviceEvent] {
        let uses = uses(onDay: day)
        var events: [DeviceEvent] = []
        for (index, use) in uses.enumerated() {
            let next = index + 1 < uses.count ? uses[index + 1].at : days.begin(of: day + 1)
            if index == 0 || uses[index - 1].app != use.app || uses[index - 1].until < use.at {
                events.append(DeviceEvent(at: use.at, action: .open(app: use.app)))
            }
            guard use.until < next else { continue }
            events.append(DeviceEvent(at: use.until, action: .home))
            let quit = use.until + Self.timeToForceQuit
            if use.endsWithForceQuit, quit < next {
                events.append(DeviceEvent(at: quit, action: .forceQuit(app: use.app)))
            }
            let change = use.until + Self.timeToSettings
            var random = SeededRandom(seed: seed, .permissions, device: device.index, day: day, item: index)
            if change < next, random.holds(group.withdrawsLocation.share) {
                events.append(DeviceEvent(at: change, action: .withdrawLocation(app: use.app)))
            }
        }
        // Events at the same instant keep their order.
        let all = (events + happenings(onDay: day)).enumerated().sorted {
            ($0.element.at, $0.offset) < ($1.element.at, $1.offset)
        }
        return all.map(\.element).filter { range.contains($0.at) }
    }

    /// Returns the uses that begin on a day. Each ends before the day does.
    private func uses(onDay day: Int) -> [Use] {
        let last = days.begin(of: day + 1) - .milliseconds(1)
        var uses: [Use] = []
        for (item, opening) in group.habits.opens.enumerated() {
            var random = SeededRandom(seed: seed, .openings, device: device.index, day: day, item: item)
            for time in times(of: opening, onDay: day, &random) {
                let planned = min(days.instant(time, on: day), last)
                let at = max(clockSkews.reduce(planned) { $1.instant(shownAs: $0) }, days.begin(of: day))
                let app =
                    opening.app.map { apps.firstIndex(of: $0) ?? 0 } ?? random.number(0...max(0, apps.count - 1))
                let stay = max(.seconds(1), (opening.stay ?? group.habits.stay).drawn(&random))
                uses.append(
                    Use(
                        at: at, app: app, until: min(at + stay, last),
                        endsWithForceQuit: random.holds(group.forceQuits.share)))
            }
        }
        // Openings at the same instant keep the order of the list.
        return uses.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    }

    private func times(of opening: Opening, onDay day: Int, _ random: inout SeededRandom) -> [Interval] {
        switch opening.when {
        case .at(let time):
            return days.include(time.days, day) ? [time.time.drawn(&random)] : []
        case .times(let count, let period):
            guard days.include(period.days, day) else { return [] }
            let begin = period.begin.drawn(&random)
            let length = max(0, (period.end.drawn(&random) - begin).milliseconds)
            return (0..<count).map { _ in begin + .milliseconds(random.below(length)) }
        }
    }
}

/// A time during which the clock of a device is ahead.
struct ClockSkew: Sendable {
    let range: Range<Instant>
    let ahead: Interval

    /// Returns the skews among the faults of a device.
    static func all(of faults: [PlannedFault]) -> [ClockSkew] {
        faults.compactMap { fault in
            guard case .clockSkew(let ahead) = fault.kind else { return nil }
            return ClockSkew(range: fault.at..<fault.until, ahead: ahead)
        }
    }

    /// Returns the instant at which the clock first shows a time or a later one.
    ///
    /// When the skew begins, the clock skips some times. When it ends, the clock repeats some times.
    func instant(shownAs shown: Instant) -> Instant {
        let skewed = range.lowerBound..<(range.upperBound + ahead)
        return skewed.contains(shown) ? max(range.lowerBound, shown - ahead) : shown
    }
}
