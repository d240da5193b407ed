import Contracts
import Timeline

/// An event of `lifecycle` in a simulation.
struct ToldEvent: Sendable, Comparable {
    let at: Instant
    /// The order of events with the same time.
    let number: Int
    let data: any EventData

    static func < (left: ToldEvent, right: ToldEvent) -> Bool { (left.at, left.number) < (right.at, right.number) }
    static func == (left: ToldEvent, right: ToldEvent) -> Bool { (left.at, left.number) == (right.at, right.number) }
}

/// The events of `lifecycle` for everything that the user does.
struct HabitScript {
    private let device: HabitualDevice
    private let calendar: HabitCalendar
    private(set) var events: [ToldEvent] = []

    init(_ device: HabitualDevice, _ calendar: HabitCalendar) {
        self.device = device
        self.calendar = calendar
        begin()
        for day in 0..<device.days { charge(on: day) }
        var free = calendar.moment(day: 0)
        for (app, opening) in openings() {
            // One app is in the foreground at a time, so an early opening waits.
            let begin = max(opening, free)
            free = begin + app.habit.stay
            use(app, from: begin, until: free)
        }
    }

    private mutating func begin() {
        let begin = calendar.moment(day: 0)
        var registration = Registration(profile: .ios18)
        registration.timeZone = device.timeZone
        tell(begin, LifecycleEvent.DeviceRegistered(registration: registration))
        tell(begin, LifecycleEvent.ConditionsChanged(conditions: .locked(true)))
        tell(begin, LifecycleEvent.ConditionsChanged(conditions: .charging(true)))
        for app in device.apps {
            tell(begin, LifecycleEvent.AppInstalled(app: app.name, manifest: Manifest(backgroundModes: [.fetch])))
            // The app sets its interval, so its code must run. A wake is no opening, from which `fetch` would learn.
            tell(
                begin,
                LifecycleEvent.AppWoken(
                    app: app.name, callbacks: [], deadline: begin, from: .notRunning, limit: .zero, reason: .location,
                    wake: "installed"))
        }
    }

    private mutating func charge(on day: Int) {
        tell(day, HabitualDevice.unplugged, .charging(false))
        tell(day, HabitualDevice.plugged, .charging(true))
    }

    private mutating func use(_ app: HabitualApp, from: Instant, until: Instant) {
        tell(from, LifecycleEvent.ConditionsChanged(conditions: .locked(false)))
        // For `fetch` it makes no difference whether the process was running in the background.
        tell(from, LifecycleEvent.AppLaunched(app: app.name, callbacks: []))
        tell(until, LifecycleEvent.AppBackgrounded(app: app.name, callbacks: [], cause: .home, taskTime: .zero))
        tell(until, LifecycleEvent.ConditionsChanged(conditions: .locked(true)))
    }

    /// Returns the openings of all apps by time.
    private func openings() -> [(app: HabitualApp, at: Instant)] {
        var openings: [(app: HabitualApp, at: Instant)] = []
        for (index, app) in device.apps.enumerated() {
            var random = HabitRandom(seed: device.seed, stream: UInt64(index))
            for day in 0..<device.days {
                for time in app.habit.times(onDay: day) {
                    let off = random.interval(upTo: app.habit.spread)
                    openings.append((app, calendar.moment(day: day, .minutes(Int64(time.minutes)) + off)))
                }
            }
        }
        // The sort is stable, so the first app comes first at equal times.
        return openings.sorted { $0.at < $1.at }
    }

    private mutating func tell(_ day: Int, _ time: TimeOfDay, _ conditions: Conditions) {
        let moment = calendar.moment(day: day, .minutes(Int64(time.minutes)))
        tell(moment, LifecycleEvent.ConditionsChanged(conditions: conditions))
    }

    private mutating func tell(_ at: Instant, _ data: any EventData) {
        events.append(ToldEvent(at: at, number: events.count, data: data))
    }
}

extension Conditions {
    fileprivate static func locked(_ locked: Bool) -> Conditions {
        var conditions = Conditions()
        conditions.locked = locked
        return conditions
    }

    fileprivate static func charging(_ charging: Bool) -> Conditions {
        var conditions = Conditions()
        conditions.battery = Battery()
        conditions.battery?.charging = charging
        return conditions
    }
}

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014), with one stream for each app,
/// so that apps do not affect each other.
struct HabitRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64, stream: UInt64) {
        state = seed
        state = next() &+ stream
        state = next()
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// Returns an interval from −`most` to `most` in whole seconds.
    mutating func interval(upTo most: Interval) -> Interval {
        let seconds = most.milliseconds / 1000
        return .seconds(Int64.random(in: -seconds...seconds, using: &self))
    }
}
