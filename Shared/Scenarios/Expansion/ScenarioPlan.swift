public import Contracts
public import Timeline

/// A scenario with all decisions of its seed: the properties of each device, and the time of each action.
///
/// All values are pure functions of the scenario, the seed, the index of a device and a day. They are equal on every
/// machine, and devices are independent: device 7 has the same life among 10 devices and among 10,000.
public struct ScenarioPlan: Sendable {
    public let scenario: Scenario
    public let seed: UInt64
    /// The first instant: midnight of the first day in the provider's time zone.
    public let begin: Instant
    /// The first instant after the scenario.
    public let end: Instant
    /// The time zone of the provider: that of most devices.
    public var providerZone: ZoneName { scenario.devices.timeZone.principal }
    /// The sends of the provider, in the order of their time.
    public let sends: [PlannedSend]
    /// The faults, in the order of their time.
    public let faults: [PlannedFault]

    /// The most sends that a plan has. `ScenarioReader` refuses a scenario with more.
    public static let mostSends = 100_000

    private let zones: [ZoneName: LocalDays]

    /// Expands a scenario.
    ///
    /// - Parameter seed: replaces the seed of the scenario.
    public init(_ scenario: Scenario, seed: UInt64? = nil) {
        self.scenario = scenario
        self.seed = seed ?? UInt64(clamping: scenario.devices.seed)
        let duration = scenario.duration.interval
        var zones: [ZoneName: LocalDays] = [:]
        for part in scenario.devices.timeZone.parts {
            zones[part.key] = LocalDays(part.key, start: scenario.start, duration: duration)
        }
        self.zones = zones
        let provider = LocalDays(scenario.devices.timeZone.principal, start: scenario.start, duration: duration)
        begin = provider.begin(of: 0)
        end = begin + duration
        sends = PlannedSend.all(of: scenario, seed: self.seed, in: provider, begin..<end)
        faults = PlannedFault.all(of: scenario, seed: self.seed, in: provider, begin..<end)
    }

    /// Returns the properties of a device.
    ///
    /// Shares are met closely also among the first devices: the indices walk through the mixes by the R₃
    /// sequence (Roberts, "The Unreasonable Effectiveness of Quasirandom Sequences", 2018).
    public func device(_ index: Int) -> PlannedDevice {
        var random = SeededRandom(seed: seed, .groups, device: -1, day: 0)
        func position(_ step: UInt64) -> UInt64 {
            random.next() &+ UInt64(truncatingIfNeeded: index) &* step
        }
        let profile = scenario.devices.mix.value(at: position(0xd1b5_4a32_d192_ed03))
        let group = scenario.group(at: position(0xabc9_8388_fb8f_ac03))
        let zone = scenario.devices.timeZone.value(at: position(0x8cb9_2ba7_2f3d_8dd7))
        return PlannedDevice(index: index, profile: profile, group: group, timeZone: zone)
    }

    /// Returns the actions of the person of a device, and the changes of its surroundings.
    public func timeline(of index: Int) -> DeviceTimeline {
        let device = device(index)
        let days =
            zones[device.timeZone] ?? LocalDays(.utc, start: scenario.start, duration: scenario.duration.interval)
        return DeviceTimeline(
            device, scenario: scenario, seed: seed, days: days, range: begin..<end,
            clockSkews: ClockSkew.all(of: faults(of: index)))
    }

    /// Returns the pushes that the provider sends to a device, in the order of their time.
    public func pushes(to index: Int) -> [PlannedPush] {
        let group = device(index).group
        var pushes: [PlannedPush] = []
        for (number, send) in sends.enumerated() {
            let plan = scenario.provider.sends[send.item]
            var random = SeededRandom(seed: seed, .audience, device: index, day: number, item: send.item)
            guard reaches(plan.to, group: group, &random) else { continue }
            let delay = plan.over.map { random.below($0.interval.milliseconds + 1) } ?? 0
            let at = send.at + .milliseconds(delay)
            if at < end { pushes.append(PlannedPush(at: at, send: number, item: send.item)) }
        }
        return pushes.sorted { ($0.at, $0.send) < ($1.at, $1.send) }
    }

    /// Returns the faults of a device and of the services, in the order of their time.
    public func faults(of index: Int) -> [PlannedFault] {
        let group = device(index).group
        return faults.enumerated().compactMap { number, fault in
            var random = SeededRandom(seed: seed, .faults, device: index, day: number, item: fault.item)
            return reaches(scenario.faults[fault.item].to, group: group, &random) ? fault : nil
        }
    }

    /// Returns the random numbers of a decision on a device, such as the outcome of its n-th handler.
    public func random(_ purpose: RandomPurpose, device: Int, number: Int, item: Int = 0) -> SeededRandom {
        SeededRandom(seed: seed, purpose, device: device, day: number, item: item)
    }

    /// Returns the offset of a time zone from UTC; zero for a zone that no device has.
    public func offset(of zone: String, at instant: Instant) -> Interval {
        zones.first { $0.key.name == zone }?.value.offsets.offset(at: instant) ?? .zero
    }

    private func reaches(_ audience: Audience, group: Int, _ random: inout SeededRandom) -> Bool {
        switch audience {
        case .all: true
        case .share(let share): random.holds(share)
        case .group(let name): scenario.people[group].name == name
        }
    }
}

/// A device of a scenario: its generation, group and time zone.
public struct PlannedDevice: Sendable, Hashable {
    /// From 0.
    public let index: Int
    /// The generation at the beginning.
    public let profile: ProfileName
    /// The index in ``Scenario/people``.
    public let group: Int
    public let timeZone: ZoneName

    /// The identifier of the device in a suite, such as `device-000007`.
    public var name: String {
        let digits = String(index)
        return "device-" + String(repeating: "0", count: max(0, 6 - digits.count)) + digits
    }
}

extension Scenario {
    /// Returns the index of the group at a position from 0 to 2⁶⁴ of the added-up shares.
    func group(at position: UInt64) -> Int {
        var point = Int(position.multipliedFullWidth(by: 10_000).high)
        for (index, group) in people.enumerated() {
            if point < group.share.basisPoints { return index }
            point -= group.share.basisPoints
        }
        return max(0, people.count - 1)
    }
}
