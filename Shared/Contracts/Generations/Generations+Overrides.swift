public import Records
import Timeline

extension Generations {
    /// Reads a document of overrides, such as `{"ios15":{"limits":{"backgroundTasks":25},"features":{"prewarming":false}}}`.
    ///
    /// The member `readings` has the readings of disputed rules: `{"readings":{"resourceTimeout":"document"}}`. It counts before
    /// the features of generations, wherever it stands.
    ///
    /// - Throws: the faults, each with its JSON pointer, if a name is unknown or a value is invalid.
    public init(overriding document: [UInt8]) throws(DocumentError) {
        let json: JSON
        do { json = try JSON(parsing: document) } catch { throw .at("", error.description) }
        self = .standard
        var faults: [FieldError] = []
        let profiles = json.members ?? []
        if json.members == nil { faults.append(.init(pointer: "", detail: "must be an object")) }
        for readings in profiles where readings.name == Self.readings { faults += read(readings.value) }
        for profile in profiles where profile.name != Self.readings {
            let pointer = "/\(profile.name)"
            guard let name = ProfileName(rawValue: profile.name) else {
                let names = Self.mustBe(ProfileName.self)
                faults.append(.init(pointer: pointer, detail: names + ", " + Self.readings))
                continue
            }
            faults += self[name].override(with: profile.value, at: pointer)
        }
        guard faults.isEmpty else { throw DocumentError(faults) }
    }

    /// The member with the readings of disputed rules.
    public static let readings = "readings"

    /// Changes the readings that a document names.
    ///
    /// - Returns: the faults.
    private mutating func read(_ document: JSON) -> [FieldError] {
        let pointer = "/\(Self.readings)"
        guard let rows = document.members else { return [.init(pointer: pointer, detail: "must be an object")] }
        var faults: [FieldError] = []
        for row in rows {
            let pointer = "\(pointer)/\(row.name)"
            guard let rule = DisputedRule(rawValue: row.name) else {
                faults.append(.init(pointer: pointer, detail: Self.mustBe(DisputedRule.self)))
                continue
            }
            guard let reading = row.value.string.flatMap(Reading.init) else {
                faults.append(.init(pointer: pointer, detail: "must be apple or document"))
                continue
            }
            self[rule] = reading
        }
        return faults
    }

    fileprivate static func mustBe<Words: WireEnum>(_ words: Words.Type) -> String {
        "is unknown: must be one of " + Words.allCases.map(\.rawValue).joined(separator: ", ")
    }
}

extension DocumentError {
    fileprivate static func at(_ pointer: String, _ detail: String) -> Self {
        DocumentError([FieldError(pointer: pointer, detail: detail)])
    }
}

extension Profile {
    /// The shortest and the longest limit.
    static let limitRange = Interval.milliseconds(1)...Interval.days(1)

    /// Changes the features and limits that a document names.
    ///
    /// - Returns: the faults.
    fileprivate mutating func override(with document: JSON, at pointer: String) -> [FieldError] {
        guard let parts = document.members else { return [.init(pointer: pointer, detail: "must be an object")] }
        var faults: [FieldError] = []
        for part in parts {
            let pointer = "\(pointer)/\(part.name)"
            guard part.name == "features" || part.name == "limits" else {
                faults.append(.init(pointer: pointer, detail: "is unknown: must be features or limits"))
                continue
            }
            guard let rows = part.value.members else {
                faults.append(.init(pointer: pointer, detail: "must be an object"))
                continue
            }
            for row in rows {
                let fault = part.name == "features" ? override(feature: row) : override(limit: row)
                if let fault { faults.append(.init(pointer: "\(pointer)/\(row.name)", detail: fault)) }
            }
        }
        return faults
    }

    private mutating func override(feature row: JSON.Member) -> String? {
        guard let feature = Feature(rawValue: row.name) else { return Generations.mustBe(Feature.self) }
        guard feature.canBeOverridden else { return "can't be overridden" }
        switch row.value.bool {
        case true?: features.insert(feature)
        case false?: features.remove(feature)
        case nil: return "must be true or false"
        }
        return nil
    }

    private mutating func override(limit row: JSON.Member) -> String? {
        guard let limit = TimeLimit(rawValue: row.name) else { return Generations.mustBe(TimeLimit.self) }
        let words = "must be from 0.001 to 86400 seconds"
        guard let seconds = row.value.double, seconds <= Self.limitRange.upperBound.seconds else { return words }
        let value = Interval.seconds(seconds)
        guard Self.limitRange.contains(value) else { return words }
        limits[limit] = value
        return nil
    }
}
