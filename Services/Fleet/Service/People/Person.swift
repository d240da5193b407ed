public import Scenarios
public import Timeline

/// The user of a device: the daily schedule, the places and the habits.
public struct Person: Sendable, Equatable {
    /// The current activity.
    public enum Phase: String, Sendable { case asleep, atHome, commuting, inTunnel, atWork }

    public var timeZone: TimeZone
    /// Times of the daily schedule, in minutes of the local day.
    public var wakes, leaves, returns, sleeps: Int
    /// The duration of the commute in minutes. The middle fifth is a tunnel.
    public var commute: Int
    public var home, work: Place
    /// The percentage of battery charge that the device uses per hour.
    public var drain: Int
    /// Whether a Focus is on at work. Asleep, all users have one.
    public var usesFocus: Bool
    /// Whether Low Power Mode is on below 20 %.
    public var usesLowPowerMode: Bool
    /// The percentage of closed apps that the user swipes out of the switcher.
    public var swipesAway: Int

    /// A time zone with its winter offset. The simulation has no daylight saving time.
    public struct TimeZone: Sendable, Equatable {
        public var name: String
        public var offset: Interval
    }

    /// A location in millionths of a degree, for integer arithmetic.
    public struct Place: Sendable, Equatable {
        public var latitude, longitude: Int
    }

    private static let zones: [(TimeZone, Place)] = [
        (.init(name: "America/Los_Angeles", offset: .hours(-8)), .init(latitude: 37_774_900, longitude: -122_419_400)),
        (.init(name: "America/New_York", offset: .hours(-5)), .init(latitude: 40_712_800, longitude: -74_006_000)),
        (.init(name: "America/Sao_Paulo", offset: .hours(-3)), .init(latitude: -23_550_500, longitude: -46_633_300)),
        (.init(name: "Europe/London", offset: .zero), .init(latitude: 51_507_400, longitude: -127_800)),
        (.init(name: "Europe/Paris", offset: .hours(1)), .init(latitude: 48_856_600, longitude: 2_352_200)),
        (.init(name: "Asia/Tokyo", offset: .hours(9)), .init(latitude: 35_676_200, longitude: 139_650_300)),
    ]

    /// Creates a random user.
    public init(_ random: inout SeededRandom) {
        let (zone, city) = random.pick(Self.zones)
        timeZone = zone
        wakes = random.number(330...510)
        leaves = wakes + random.number(30...90)
        commute = random.number(20...60)
        returns = leaves + commute + random.number(420...540)
        sleeps = random.number(1300...1435)
        let near = -90_000...90_000
        home = Place(latitude: city.latitude + random.number(near), longitude: city.longitude + random.number(near))
        work = Place(latitude: city.latitude + random.number(near), longitude: city.longitude + random.number(near))
        drain = random.number(4...7)
        usesLowPowerMode = random.percent(60)
        swipesAway = random.pick([0, 0, 2, 5, 20])
        usesFocus = random.percent(40)
    }

    /// Returns the activity at a user time.
    public func phase(at instant: Instant) -> Phase {
        let minute = minute(of: instant)
        if minute < wakes || minute >= sleeps { return .asleep }
        guard isWorkday(instant) else { return .atHome }
        for start in [leaves, returns] where (start..<start + commute).contains(minute) {
            let tunnel = start + commute * 2 / 5..<start + commute * 3 / 5
            return tunnel.contains(minute) ? .inTunnel : .commuting
        }
        return (leaves..<returns).contains(minute) ? .atWork : .atHome
    }

    /// Returns the time of the next change of activity or battery, at most an hour later.
    public func nextChange(after instant: Instant) -> Instant {
        let minute = minute(of: instant)
        var changes = [wakes, sleeps, 1440]
        for start in [leaves, returns] {
            changes += [start, start + commute * 2 / 5, start + commute * 3 / 5, start + commute]
        }
        let next = changes.filter { $0 > minute }.min() ?? 1440
        let started = Instant(milliseconds: instant.milliseconds - instant.milliseconds.modulo(60_000))
        return started + .minutes(Int64(min(next - minute, 60)))
    }

    /// Returns the minute of the local day, from 0 to 1439.
    public func minute(of instant: Instant) -> Int {
        Int((instant + timeZone.offset).milliseconds.modulo(86_400_000) / 60_000)
    }

    func isWorkday(_ instant: Instant) -> Bool {
        let local = (instant + timeZone.offset).milliseconds
        let days = (local - local.modulo(86_400_000)) / 86_400_000
        return (days + 3).modulo(7) < 5  // The epoch was a Thursday; Monday is 0.
    }
}

extension Int64 {
    /// Returns the remainder, which is never negative.
    func modulo(_ divisor: Int64) -> Int64 {
        let rest = self % divisor
        return rest < 0 ? rest + divisor : rest
    }
}
