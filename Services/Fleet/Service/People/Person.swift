public import Timeline

/// Somebody who carries a device: when they wake, commute, work and sleep, where they are, and how they treat the device.
public struct Person: Sendable, Equatable {
    /// What they do.
    public enum Phase: String, Sendable { case asleep, atHome, commuting, inTunnel, atWork }

    public var timeZone: TimeZone
    /// Minutes of the local day.
    public var wakes, leaves, returns, sleeps: Int
    /// How long the way to work takes, in minutes; its middle fifth is a tunnel.
    public var commute: Int
    public var home, work: Place
    /// What the battery loses in an hour away from the charger, in percent.
    public var drain: Int
    /// Turns Low Power Mode on at 20 %.
    public var usesLowPowerMode: Bool
    /// How often, in a hundred, an app that was left is swiped out of the switcher.
    public var swipesAway: Int

    /// A time zone with the offset that it has in winter: people here know no summer time.
    public struct TimeZone: Sendable, Equatable {
        public var name: String
        public var offset: Interval
    }

    /// In millionths of a degree, so that places are computed in whole numbers.
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

    /// Somebody made up by the dice.
    public init(_ chance: inout Chance) {
        let (zone, city) = chance.pick(Self.zones)
        timeZone = zone
        wakes = chance.number(330...510)
        leaves = wakes + chance.number(30...90)
        commute = chance.number(20...60)
        returns = leaves + commute + chance.number(420...540)
        sleeps = chance.number(1300...1435)
        let near = -90_000...90_000
        home = Place(latitude: city.latitude + chance.number(near), longitude: city.longitude + chance.number(near))
        work = Place(latitude: city.latitude + chance.number(near), longitude: city.longitude + chance.number(near))
        drain = chance.number(4...7)
        usesLowPowerMode = chance.percent(60)
        swipesAway = chance.pick([0, 0, 2, 5, 20])
    }

    /// What they do at a moment of their time.
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

    /// The next moment at which what they do, or how far the battery is, changes: at the latest in an hour.
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

    /// The minute of the local day, from 0 to 1439.
    public func minute(of instant: Instant) -> Int {
        Int((instant + timeZone.offset).milliseconds.modulo(86_400_000) / 60_000)
    }

    func isWorkday(_ instant: Instant) -> Bool {
        let days = ((instant + timeZone.offset).milliseconds - minutesIntoDay(instant)) / 86_400_000
        return (days + 3).modulo(7) < 5  // The epoch was a Thursday; Monday is 0.
    }

    private func minutesIntoDay(_ instant: Instant) -> Int64 {
        (instant + timeZone.offset).milliseconds.modulo(86_400_000)
    }
}

extension Int64 {
    /// The remainder, never negative.
    func modulo(_ divisor: Int64) -> Int64 {
        let rest = self % divisor
        return rest < 0 ? rest + divisor : rest
    }
}
