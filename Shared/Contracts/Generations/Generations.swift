public import Timeline

/// The features and limits of each generation of iOS: the only table of them.
///
/// ``Feature`` and ``TimeLimit`` are its rows, ``ProfileName`` its columns. All machines, `GET /v1/profiles` and the
/// fleet read it. The file of `PROFILES_FILE` overrides it for a deployment.
public struct Generations: Sendable, Equatable {
    private var profiles: [ProfileName: Profile]
    /// The rules for which the deployment follows the source documents.
    private var documented: Set<DisputedRule> = []

    /// The table without overrides.
    public static let standard = Generations()

    private init() {
        profiles = Dictionary(uniqueKeysWithValues: ProfileName.allCases.map { ($0, Profile($0)) })
    }

    /// The features and limits of a generation.
    public internal(set) subscript(_ name: ProfileName) -> Profile {
        get { profiles[name] ?? Profile(name) }
        set { profiles[name] = newValue }
    }

    /// The reading of a disputed rule, for all generations.
    public internal(set) subscript(_ rule: DisputedRule) -> Reading {
        get { documented.contains(rule) ? .document : .apple }
        set {
            switch newValue {
            case .apple: documented.remove(rule)
            case .document: documented.insert(rule)
            }
            guard rule == .backgroundAppRefresh else { return }
            for name in ProfileName.allCases { self[name].setReading(newValue) }
        }
    }
}

/// The features and limits of one generation of iOS: a column of ``Generations``.
public struct Profile: Sendable, Equatable {
    public let name: ProfileName
    /// The features of the generation.
    public internal(set) var features: Set<Feature>
    var limits: [TimeLimit: Interval]

    init(_ name: ProfileName) {
        self.name = name
        features = Set(Feature.allCases.filter { $0.span.contains(name.version) })
        limits = [:]
        for limit in TimeLimit.allCases { limits[limit] = limit.standard(name.version) }
    }

    /// Whether the generation has a feature.
    public func has(_ feature: Feature) -> Bool { features.contains(feature) }

    /// A limit, also if the generation lacks its feature.
    public subscript(_ limit: TimeLimit) -> Interval { limits[limit] ?? limit.standard(name.version) }

    /// Returns a limit; nil if the generation lacks its feature.
    public func limit(of limit: TimeLimit) -> Interval? {
        limit.feature.map(has) == false ? nil : self[limit]
    }

    /// Applies a reading of ``DisputedRule/backgroundAppRefresh``, which is a feature.
    fileprivate mutating func setReading(_ reading: Reading) {
        let ends =
            switch reading {
            case .apple: Feature.refreshSwitchEndsActivities.span.contains(name.version)
            case .document: has(.backgroundAppRefresh)
            }
        if ends {
            features.insert(.refreshSwitchEndsActivities)
        } else {
            features.remove(.refreshSwitchEndsActivities)
        }
    }

    /// Returns why the generation lacks a feature, as a sentence.
    public func lack(of feature: Feature) -> String {
        let span = feature.span
        let reason =
            if let since = span.since, name.version < since {
                ", which came with iOS \(since)"
            } else if let until = span.until, name.version > until {
                ", which ended with iOS \(until)"
            } else {
                ": the profiles of this deployment remove it"
            }
        return "The profile \(name.rawValue) has no \(span.title)\(reason)."
    }
}
