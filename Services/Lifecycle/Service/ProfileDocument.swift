import Contracts
import OrderedCollections
import Records
import Timeline

/// The features and limits of a generation of iOS, in the form that `PROFILES_FILE` overrides.
struct ProfileDocument: Record {
    /// Whether the generation has each feature.
    var features: OrderedDictionary<String, Bool> = [:]
    /// Each limit in seconds. The limits of a feature that the generation lacks have no effect.
    var limits: OrderedDictionary<String, Interval> = [:]

    init(_ profile: Profile) {
        for feature in Feature.allCases { features[feature.rawValue] = profile.has(feature) }
        for limit in TimeLimit.allCases { limits[limit.rawValue] = profile[limit] }
    }
}

/// The table of generations of a deployment, in the form of the file of `PROFILES_FILE`: a member for each generation, and
/// `readings`.
struct ProfilesDocument: Record {
    /// The reading of each disputed rule: `apple` or `document`.
    private var readings: OrderedDictionary<String, Reading> = [:]
    private var profiles: [ProfileDocument?]

    static var placeholder: ProfilesDocument { ProfilesDocument(.standard) }

    init(_ generations: Generations) {
        for rule in DisputedRule.allCases { readings[rule.rawValue] = generations[rule] }
        profiles = ProfileName.allCases.map { ProfileDocument(generations[$0]) }
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        for (index, name) in ProfileName.allCases.enumerated() { fields.optional(name.rawValue, &profiles[index]) }
        fields.field(Generations.readings, &readings)
    }
}
