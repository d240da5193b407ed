import Records
import Timeline

/// Openings of an app by a person: `mon-fri 07:30±20m com.example.news for 2m±1m` or `10 times 07:00-23:00`.
///
/// Without an app, each opening is of any app of the scenario, with equal probability. `for` is the length of the use;
/// without it, ``Habits/stay`` applies.
public struct Opening: TextValue {
    /// The time or times of a day.
    public enum When: Sendable, Hashable {
        case at(DailyTime)
        /// A number of times a day, from 1 to 200, uniformly distributed over a period of a day.
        case times(Int, DailyPeriod)
    }

    public let when: When
    public let app: String?
    public let stay: SpreadSpan?

    public init(_ when: When, app: String? = nil, stay: SpreadSpan? = nil) {
        self.when = when
        self.app = app
        self.stay = stay
    }

    public static let form =
        "an opening such as 07:30±20m, mon-fri 18:00 com.example.news for 2m±1m or 10 times 07:00-23:00"
    public static var pattern: String {
        "(?:\(DailyTime.pattern)|[0-9]{1,3} times \(DailyPeriod.pattern))(?: (?!for )[A-Za-z0-9._:-]{1,128})?"
            + "(?: for \(SpreadSpan.pattern))?"
    }
    public static var placeholder: Opening { Opening(.at(.placeholder)) }

    public init?(_ text: String) {
        let opening: Opening? = TextScanner.whole(text) { scanner in
            guard let when = scanner.attempt(Self.scanTimes) ?? DailyTime.scan(&scanner).map(When.at) else {
                return nil
            }
            let app = scanner.attempt(Self.scanApp)
            let stay = scanner.attempt { scanner in scanner.take(" for ") ? SpreadSpan.scan(&scanner) : nil }
            return Opening(when, app: app, stay: stay)
        }
        guard let opening else { return nil }
        self = opening
    }

    private static func scanTimes(_ scanner: inout TextScanner) -> When? {
        guard let count = scanner.number(digits: 1...3), (1...200).contains(count), scanner.take(" times "),
            let period = DailyPeriod.scan(&scanner), !period.endsNextDay
        else { return nil }
        return .times(count, period)
    }

    private static func scanApp(_ scanner: inout TextScanner) -> String? {
        guard scanner.take(" "), let word = scanner.word(), word != "for", isIdentifier(word) else { return nil }
        return String(word)
    }

    public var description: String {
        let time =
            switch when {
            case .at(let time): time.description
            case .times(let count, let period): "\(count) times \(period)"
            }
        return time + (app.map { " \($0)" } ?? "") + (stay.map { " for \($0)" } ?? "")
    }
}

/// How often a person does something after a use of an app, such as removing it from the app switcher: `never`, `after each use` or
/// `after 20% of uses`.
public struct ShareOfUses: TextValue {
    /// The probability after each use.
    public let share: Percent

    public init(_ share: Percent) { self.share = share }

    public static let form = "never, after each use, or after a share of uses such as after 20% of uses"
    public static let pattern = "never|after each use|after \(Percent.pattern) of uses"
    public static var placeholder: ShareOfUses { ShareOfUses(.none) }

    public init?(_ text: String) {
        let share: Percent? = TextScanner.whole(text) { scanner in
            if scanner.take("never") { return Percent.none }
            if scanner.take("after each use") { return .all }
            guard scanner.take("after "), let share = Percent.scan(&scanner), scanner.take(" of uses") else {
                return nil
            }
            return share
        }
        guard let share else { return nil }
        self.init(share)
    }

    public var description: String {
        switch share {
        case .none: "never"
        case .all: "after each use"
        default: "after \(share) of uses"
        }
    }
}

/// When Low Power Mode is on: in a period of the day (`from 16:00`), or below a battery level (`below 20%`).
///
/// The battery rule switches the mode on when the level falls below the share, and off when charging begins.
public enum LowPowerRule: TextValue {
    case during(DailyPeriod)
    case below(Percent)

    public static let form = "a battery level such as below 20%, or \(DailyPeriod.form)"
    public static var pattern: String { "below \(Percent.pattern)|\(DailyPeriod.pattern)" }
    public static var placeholder: LowPowerRule { .during(.placeholder) }

    public init?(_ text: String) {
        let rule: LowPowerRule? = TextScanner.whole(text) { scanner in
            if scanner.take("below ") { return Percent.scan(&scanner).map { .below($0) } }
            return DailyPeriod.scan(&scanner).map { .during($0) }
        }
        guard let rule else { return nil }
        self = rule
    }

    public var description: String {
        switch self {
        case .during(let period): period.description
        case .below(let share): "below \(share)"
        }
    }
}

/// The devices that a notification or a fault reaches: `all`, `20%`, or `group NAME`.
public enum Audience: TextValue {
    case all
    /// A share of all devices. Each notification and each fault has its own.
    case share(Percent)
    /// The devices whose person belongs to a group of ``Scenario/people``.
    case group(String)

    public static let form = "all, a share such as 20%, or a group such as group commuters"
    public static let pattern = "all|\(Percent.pattern)|group [A-Za-z0-9._:-]{1,128}"
    public static var placeholder: Audience { .all }

    public init?(_ text: String) {
        let audience: Audience? = TextScanner.whole(text) { scanner in
            if scanner.take("group ") {
                guard let name = scanner.word(), isIdentifier(name) else { return nil }
                return .group(String(name))
            }
            if scanner.take("all") { return .all }
            return Percent.scan(&scanner).map { .share($0) }
        }
        guard let audience else { return nil }
        self = audience
    }

    public var description: String {
        switch self {
        case .all: "all"
        case .share(let share): share.description
        case .group(let name): "group \(name)"
        }
    }
}
