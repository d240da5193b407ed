public import Contracts
public import Timeline

/// An action of the person of a device, or a change of its surroundings.
public enum DeviceAction: Sendable, Hashable {
    /// The person opens an app: its index in ``Scenario/apps``. Another app that is on screen goes to the background.
    case open(app: Int)
    /// The person goes to the home screen.
    case home
    /// The person removes an app from the app switcher.
    case forceQuit(app: Int)
    /// The person withdraws the permission for location from an app.
    case withdrawLocation(app: Int)
    case visit(VisitKind)
    /// The accessory of an app has a new value.
    case accessory(app: Int)
    case healthSample(String)
    case network(NetworkText)
    case battery(level: Percent, isCharging: Bool)
    /// A Focus begins or ends.
    case focus(Bool)
    case lowPowerMode(Bool)
    /// The device installs another generation of iOS, and restarts.
    case update(to: ProfileName)
}

/// An action at an instant.
public struct DeviceEvent: Sendable, Hashable {
    public let at: Instant
    public let action: DeviceAction
}

/// The conditions of a device at the beginning of a scenario.
public struct InitialConditions: Sendable, Hashable {
    public let network: NetworkText
    public let level: Percent
    public let isCharging: Bool
    public let isFocused: Bool
    public let isLowPowerMode: Bool

    /// The document for `lifecycle`.
    public var conditions: Conditions {
        var conditions = Conditions()
        var battery = Battery()
        battery.charging = isCharging
        battery.level = level.fraction
        conditions.battery = battery
        conditions.lowPowerMode = isLowPowerMode
        conditions.network = network.network
        return conditions
    }
}

/// The life of a device in a scenario: a lazy sequence of events in the order of their time.
///
/// Each day is computed when the iteration reaches it. A use of an app ends at midnight at the latest.
public struct DeviceTimeline: Sequence, Sendable {
    public let device: PlannedDevice
    /// The local days of the device that overlap the scenario. Day 0 is the date on which the scenario starts.
    public let days: ClosedRange<Int>
    /// The conditions at the beginning.
    public let initial: InitialConditions
    private let world: DeviceWorld
    private let person: DevicePerson
    private let beginning: DeviceWorld.State

    init(
        _ device: PlannedDevice, scenario: Scenario, seed: UInt64, days: LocalDays, range: Range<Instant>,
        clockSkews: [ClockSkew]
    ) {
        self.device = device
        self.days = days.days(overlapping: range)
        world = DeviceWorld(device, scenario: scenario, seed: seed, days: days, range: range)
        person = DevicePerson(
            device, scenario: scenario, seed: seed, days: days, range: range, clockSkews: clockSkews)
        beginning = world.beginning(on: self.days.lowerBound)
        initial = InitialConditions(
            network: beginning.network, level: beginning.level, isCharging: beginning.isCharging,
            isFocused: beginning.isFocused,
            isLowPowerMode: beginning.isLowPowerMode)
    }

    /// Returns the events of a local day; none outside of ``days``. The battery needs the days before, so it repeats
    /// their conditions.
    public func events(onDay day: Int) -> [DeviceEvent] {
        guard days.contains(day) else { return [] }
        var state = beginning
        for earlier in days.lowerBound..<day { _ = world.events(onDay: earlier, &state) }
        return events(onDay: day, &state)
    }

    private func events(onDay day: Int, _ state: inout DeviceWorld.State) -> [DeviceEvent] {
        let conditions = world.events(onDay: day, &state)
        let actions = person.events(onDay: day)
        var merged: [DeviceEvent] = []
        merged.reserveCapacity(conditions.count + actions.count)
        var next = 0
        for action in actions {
            while next < conditions.count, conditions[next].at <= action.at {
                merged.append(conditions[next])
                next += 1
            }
            merged.append(action)
        }
        merged.append(contentsOf: conditions[next...])
        return merged
    }

    public func makeIterator() -> Iterator { Iterator(self) }

    /// Computes a day at a time.
    public struct Iterator: IteratorProtocol {
        private let timeline: DeviceTimeline
        private var state: DeviceWorld.State
        private var day: Int
        private var events: [DeviceEvent] = []
        private var position = 0

        init(_ timeline: DeviceTimeline) {
            self.timeline = timeline
            state = timeline.beginning
            day = timeline.days.lowerBound
        }

        public mutating func next() -> DeviceEvent? {
            while position == events.count {
                guard day <= timeline.days.upperBound else { return nil }
                events = timeline.events(onDay: day, &state)
                position = 0
                day += 1
            }
            defer { position += 1 }
            return events[position]
        }
    }
}
