public import Contracts
public import Records
import Timeline

/// A scenario: devices, the people who carry them, the apps, the provider that sends to them, faults and expectations.
///
/// It is the content of a scenario file. `ScenarioReader` reads and checks one; ``ScenarioPlan`` expands it to
/// actions with their times. All members except ``devices`` and ``apps`` have defaults.
public struct Scenario: Record, Equatable {
    /// The subject of the scenario, for reports. At most 200 characters.
    public var name = "scenario"
    /// The first day, in the provider's time zone: the scenario begins at its midnight.
    public var start = ScenarioDate.usual
    /// The duration (member `for`), from 1 minute to 366 days.
    public var duration = TimeSpan(.days(1))
    /// After how long a push is late: seconds after its sending. From 1 second to 1 day.
    public var lateAfter = TimeSpan(.seconds(30))
    public var devices: DeviceMix
    /// The groups of people. Their shares add up to 100 %. Without any, one group has all devices and never opens an app.
    public var people: [Group] = [Group()]
    /// From 1 to 16 apps, which every device has.
    public var apps: [ScenarioApp]
    public var provider = Provider.sends([])
    /// The speed of transfers by network.
    public var rates = Rates()
    public var faults: [Fault] = []
    public var expect: [Expectation] = []

    /// Creates a scenario from its required members and defaults.
    public init(devices: DeviceMix, apps: [ScenarioApp]) {
        self.devices = devices
        self.apps = apps
    }

    public static var placeholder: Scenario { Scenario(devices: .placeholder, apps: [.placeholder]) }

    // Written by hand, because `for` is a keyword of Swift.
    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.defaulted("name", &name, .text(1...200))
        fields.defaulted("start", &start)
        fields.defaulted("for", &duration, .span(.minutes(1)...TimeSpan.longest))
        fields.defaulted("lateAfter", &lateAfter, .span(.seconds(1)...(.days(1))))
        fields.field("devices", &devices)
        fields.defaulted("people", &people, .count(1...64))
        fields.field("apps", &apps, .count(1...16))
        fields.defaulted("provider", &provider)
        fields.defaulted("rates", &rates)
        fields.defaulted("faults", &faults, .count(0...256))
        fields.defaulted("expect", &expect, .count(0...64))
    }
}

/// The devices of a scenario.
public struct DeviceMix: Record, Equatable {
    /// The number of devices, from 1 to 100,000.
    public var count: Int
    /// The generations of iOS with their shares.
    public var mix: Defaulted<Mix<ProfileName>> = Mix(ProfileName.ios18)
    /// The seed of everything random. The same file and seed give the same scenario on every machine.
    public var seed: Defaulted<Int> = 1
    /// The time zones with their shares.
    public var timeZone: Defaulted<Mix<ZoneName>> = Mix(ZoneName.utc)
    /// Installations of another generation of iOS.
    public var updates: Defaulted<[SystemUpdate]> = []

    enum Constraints {
        static let count: Constraint<Int> = .range(1...100_000)
        static let seed: Constraint<Int> = .range(0...9_007_199_254_740_991)
        static let updates: Constraint<[SystemUpdate]> = .count(0...16)
    }
}

/// An installation of a newer generation of iOS, on each day that `at` names.
public struct SystemUpdate: Record, Equatable {
    /// When a device installs it, in its own time zone.
    public var at: DailyTime
    /// The probability that a device with an older generation installs it on such a day.
    public var share: Defaulted<Percent> = Percent.all
    public var to: ProfileName
}

extension Constraint where T == TimeSpan {
    /// A duration in a range.
    static func span(_ range: ClosedRange<Interval>) -> Constraint<TimeSpan> {
        let (first, last) = (TimeSpan(range.lowerBound), TimeSpan(range.upperBound))
        return Constraint("must be from \(first) to \(last)") { range.contains($0.interval) }
    }
}
