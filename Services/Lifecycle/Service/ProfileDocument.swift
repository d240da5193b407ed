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

    /// Returns the documents of all generations, by their names.
    static func all(of generations: Generations) -> OrderedDictionary<String, ProfileDocument> {
        OrderedDictionary(
            uniqueKeysWithValues: ProfileName.allCases.map { ($0.rawValue, ProfileDocument(generations[$0])) })
    }
}
