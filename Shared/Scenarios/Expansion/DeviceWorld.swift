import Contracts
import Timeline

/// The conditions of a device over time: network, battery, Low Power Mode and system updates.
struct DeviceWorld: Sendable {
    /// The conditions at an instant, from which those of the next day follow.
    struct State: Sendable, Hashable {
        var at: Instant
        var network: NetworkText
        var isCharging: Bool
        var isFocused: Bool
        var isLowPowerByPeriod: Bool
        var charge: Charge
        /// The level below which Low Power Mode is on; nil if no rule names one.
        var threshold: Percent?
        var profile: ProfileName
        /// The last reported mode.
        var wasLowPowerMode = false

        init(
            at: Instant, network: NetworkText, isCharging: Bool, isFocused: Bool, isLowPowerByPeriod: Bool,
            charge: Charge,
            threshold: Percent?, profile: ProfileName
        ) {
            self.at = at
            self.network = network
            self.isCharging = isCharging
            self.isFocused = isFocused
            self.isLowPowerByPeriod = isLowPowerByPeriod
            self.charge = charge
            self.threshold = threshold
            self.profile = profile
            wasLowPowerMode = isLowPowerMode
        }

        var isLowPowerMode: Bool {
            isLowPowerByPeriod || !isCharging && threshold.map { charge.isBelow($0) } ?? false
        }
        var level: Percent { charge.level }

        /// The time until the charge falls below the threshold; nil if it does not, or is there already.
        func timeToLowPower(rate: Int) -> Interval? { threshold.flatMap { charge.timeToFall(below: $0, rate: rate) } }
    }

    let device: PlannedDevice
    let group: Group
    let updates: [SystemUpdate]
    let seed: UInt64
    let days: LocalDays
    let range: Range<Instant>

    init(_ device: PlannedDevice, scenario: Scenario, seed: UInt64, days: LocalDays, range: Range<Instant>) {
        self.device = device
        group = scenario.people[device.group]
        updates = scenario.devices.updates
        self.seed = seed
        self.days = days
        self.range = range
    }

    /// Returns the conditions at the beginning of the scenario.
    func beginning(on day: Int) -> State {
        let periods = ActivePeriods(self, around: day)
        let at = range.lowerBound
        return State(
            at: at, network: periods.network(at: at), isCharging: periods.isCharging(at: at),
            isFocused: periods.isFocused(at: at), isLowPowerByPeriod: periods.isLowPower(at: at),
            charge: Charge(group.battery.atStart),
            threshold: group.lowPowerThreshold, profile: device.profile)
    }

    /// Returns the changes of a day in order, and moves the state to the end of the day.
    func events(onDay day: Int, _ state: inout State) -> [DeviceEvent] {
        let periods = ActivePeriods(self, around: day)
        let installs = installs(onDay: day)
        let end = min(days.begin(of: day + 1), range.upperBound)
        let begin = state.at
        // The first instant of a day can be a change too.
        var changes = Set(periods.changes + installs.map(\.at)).filter { $0 >= begin && $0 < end }.sorted()[...]
        var events: [DeviceEvent] = []
        while true {
            let report = state.charge.timeToNextReport(rate: rate(state)).map { state.at + $0 }
            let below = state.timeToLowPower(rate: rate(state)).map { state.at + $0 }
            let next = [changes.first, report, below].reduce(end) { min($0, $1 ?? end) }
            state.charge.move(rate: rate(state), next - state.at)
            guard next < end else {
                state.at = end
                return events
            }
            if changes.first == next { changes.removeFirst() }
            change(&state, to: next, periods, isReport: next == report, &events)
            for install in installs where install.at == next && install.update.to > state.profile {
                state.profile = install.update.to
                events.append(DeviceEvent(at: next, action: .update(to: install.update.to)))
            }
        }
    }

    private func change(
        _ state: inout State, to at: Instant, _ periods: ActivePeriods, isReport: Bool, _ events: inout [DeviceEvent]
    ) {
        let before = state.wasLowPowerMode
        state.at = at
        let network = periods.network(at: at)
        if network != state.network { events.append(DeviceEvent(at: at, action: .network(network))) }
        let isCharging = periods.isCharging(at: at)
        if isCharging != state.isCharging || isReport {
            events.append(DeviceEvent(at: at, action: .battery(level: state.level, isCharging: isCharging)))
        }
        let isFocused = periods.isFocused(at: at)
        if isFocused != state.isFocused { events.append(DeviceEvent(at: at, action: .focus(isFocused))) }
        state.isFocused = isFocused
        (state.network, state.isCharging) = (network, isCharging)
        state.isLowPowerByPeriod = periods.isLowPower(at: at)
        state.wasLowPowerMode = state.isLowPowerMode
        if state.isLowPowerMode != before {
            events.append(DeviceEvent(at: at, action: .lowPowerMode(state.isLowPowerMode)))
        }
    }

    /// The change of the charge, in hundredths of a percent per hour.
    private func rate(_ state: State) -> Int {
        state.isCharging ? group.battery.charge.basisPoints : -group.battery.drain.basisPoints
    }

    private func installs(onDay day: Int) -> [(at: Instant, update: SystemUpdate)] {
        updates.enumerated().compactMap { item, update in
            guard days.include(update.at.days, day) else { return nil }
            var random = SeededRandom(seed: seed, .updates, device: device.index, day: day, item: item)
            let at = days.instant(update.at.time.drawn(&random), on: day)
            return random.holds(update.share) ? (at, update) : nil
        }
    }
}
