public import Contracts
public import Records
import Timeline

/// A group of people with equal habits. Each device belongs to one person.
public struct Group: Record, Equatable {
    /// The switch *Background App Refresh* of the whole device.
    public var backgroundRefresh: Defaulted<Switch> = .on
    public var battery: Defaulted<BatteryPlan> = BatteryPlan()
    /// The periods in which the device charges. The default is 23:00±30m-06:30±30m.
    public var charging: Defaulted<OneOrMore<DailyPeriod>> = Group.nightly
    /// The periods of a Focus, which silences alerts (from iOS 15); none if missing.
    public var focus: OneOrMore<DailyPeriod>?
    public var forceQuits: Defaulted<ShareOfUses> = ShareOfUses(.none)
    public var habits: Defaulted<Habits> = Habits()
    /// When Low Power Mode is on; never if missing.
    public var lowPowerMode: OneOrMore<LowPowerRule>?
    /// The name of the group, for `to: group NAME`.
    public var name: String?
    /// The networks; always Wi-Fi if missing.
    public var network: Defaulted<NetworkPlan> = NetworkPlan()
    public var notifications: Defaulted<NotificationHabits> = NotificationHabits()
    /// Short losses of the network at random times.
    public var outages: Outages?
    /// The share of the devices. The shares of all groups add up to 100 %.
    public var share: Defaulted<Percent> = Percent.all
    /// The times of the scheduled summary of notifications, from iOS 15; 08:00 and 18:00 if missing.
    public var summaryTimes: OneOrMore<ClockTime>?
    /// The periods at places that the system recognizes; none if missing.
    public var visits: OneOrMore<DailyPeriod>?
    /// How often the person withdraws the permission for location from an app after a use.
    public var withdrawsLocation: Defaulted<ShareOfUses> = ShareOfUses(.none)

    /// The usual time at the charger.
    public static let nightly = OneOrMore(
        DailyPeriod(
            SpreadTime(ClockTime(.hours(23)), spread: .minutes(30)),
            SpreadTime(ClockTime(.minutes(390)), spread: .minutes(30))))

    enum Constraints {
        static let name: Constraint<String> = .identifier
    }
}

/// When a person opens apps, and for how long.
public struct Habits: Record, Equatable {
    public var opens: Defaulted<[Opening]> = []
    /// The length of a use, for openings that name none.
    public var stay: Defaulted<SpreadSpan> = SpreadSpan.minutes(2, spread: 1)

    enum Constraints {
        static let opens: Constraint<[Opening]> = .count(0...64)
    }
}

/// The charge of a battery over time. It changes linearly, and stays between 1 and 100 %.
public struct BatteryPlan: Record, Equatable {
    /// The charge at the beginning of the scenario.
    public var atStart: Defaulted<Percent> = Percent.all
    /// The gain per hour at the charger.
    public var charge: Defaulted<Percent> = Percent(50)
    /// The loss per hour away from the charger.
    public var drain: Defaulted<Percent> = Percent(4)
}

/// The habits of a person with notifications.
public struct NotificationHabits: Record, Equatable {
    /// The time from the presentation to the opening.
    public var after: Defaulted<SpreadSpan> = SpreadSpan.seconds(30, spread: 20)
    /// The answer to the questions of all apps, and their switch *Allow Notifications*.
    public var allowed: Defaulted<Switch> = .on
    /// The share of shown notifications that the person opens.
    public var opened: Defaulted<Percent> = Percent.none
}

/// Losses of the network at random times, in addition to those of the network plan.
public struct Outages: Record, Equatable {
    /// The length of each.
    public var each: Defaulted<SpreadSpan> = SpreadSpan.minutes(2, spread: 1)
    /// The number a day, from 1 to 200, uniformly distributed.
    public var times: Int

    enum Constraints {
        static let times: Constraint<Int> = .range(1...200)
    }
}
