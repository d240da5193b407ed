public import Contracts
public import Records
public import Timeline

/// A fault of devices, of their network or of a service. It names exactly one kind.
public struct Fault: Record, Equatable {
    /// The names of the members that are kinds of faults.
    public static let kinds = [
        "clockSkew", "crash", "doubledPushes", "kill", "latePushes", "lostRadio", "memoryPressure", "neverReturns",
        "reboot",
    ]

    /// When the fault begins, in the provider's time zone.
    public var at: DailyTime
    /// How long the fault lasts (member `for`); needed by all kinds but `crash`. A reboot takes this time.
    public var duration: TimeSpan?
    public var to: Audience = .all

    /// The device's clock is ahead by this duration. Its person goes by it, so openings come earlier.
    public var clockSkew: TimeSpan?
    /// The app with this identifier crashes if it runs.
    public var crash: String?
    /// This share of the pushes arrives twice.
    public var doubledPushes: Percent?
    /// This service is killed, where processes run.
    public var kill: ScenarioService?
    /// Pushes arrive later by this time.
    public var latePushes: SpreadSpan?
    /// The device has no network if true.
    public var lostRadio: Bool?
    public var memoryPressure: MemoryPressure?
    /// The handlers of the app with this identifier never return.
    public var neverReturns: String?
    /// The device restarts if true.
    public var reboot: Bool?

    /// Creates a fault without a kind.
    public init(at: DailyTime, duration: TimeSpan? = nil, to: Audience = .all) {
        self.at = at
        self.duration = duration
        self.to = to
    }

    public static var placeholder: Fault { Fault(at: .placeholder) }

    // Written by hand, because `for` is a keyword of Swift.
    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("at", &at)
        fields.optional("for", &duration, .span(.seconds(1)...TimeSpan.longest))
        fields.defaulted("to", &to)
        fields.optional("clockSkew", &clockSkew)
        fields.optional("crash", &crash, .identifier)
        fields.optional("doubledPushes", &doubledPushes)
        fields.optional("kill", &kill)
        fields.optional("latePushes", &latePushes)
        fields.optional("lostRadio", &lostRadio, .isTrue)
        fields.optional("memoryPressure", &memoryPressure)
        fields.optional("neverReturns", &neverReturns, .identifier)
        fields.optional("reboot", &reboot, .isTrue)
    }

    /// The kind; nil if the fault does not name exactly one.
    public var kind: FaultKind? {
        let named: [FaultKind?] = [
            clockSkew.map { .clockSkew($0.interval) }, crash.map { .crash(app: $0) },
            doubledPushes.map { .doubledPushes($0) }, kill.map { .kill($0) }, latePushes.map { .latePushes($0) },
            lostRadio.map { _ in .lostRadio }, memoryPressure.map { .memoryPressure($0) },
            neverReturns.map { .neverReturns(app: $0) }, reboot.map { _ in .reboot },
        ]
        let kinds = named.compactMap(\.self)
        return kinds.count == 1 ? kinds[0] : nil
    }
}

/// The kind of a fault, with its value.
public enum FaultKind: Sendable, Equatable {
    case clockSkew(Interval)
    case crash(app: String)
    case doubledPushes(Percent)
    case kill(ScenarioService)
    case latePushes(SpreadSpan)
    case lostRadio
    case memoryPressure(MemoryPressure)
    case neverReturns(app: String)
    case reboot

    /// Whether the fault needs a duration.
    public var lasts: Bool {
        switch self {
        case .crash: false
        case .clockSkew, .doubledPushes, .kill, .latePushes, .lostRadio, .memoryPressure, .neverReturns, .reboot: true
        }
    }
}

/// A service of the suite, as a scenario names it.
public enum ScenarioService: String, WireEnum { case lifecycle, fetch, push, transfer, ops }

extension Constraint where T == Bool {
    /// The value `true`. A fault that does not occur is left out.
    fileprivate static var isTrue: Constraint<Bool> {
        Constraint("must be true or omitted", keywords: [("const", true)]) { $0 }
    }
}
