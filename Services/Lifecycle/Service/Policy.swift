import Foundation
import LifecycleMachine
import Records
import ServiceKit

extension LifecyclePolicy {
    /// The built-in limits, with the overrides of the file in `LIFECYCLE_PROFILES_FILE`.
    ///
    /// - Throws: an error that names the file's faults, if it can't be read or has invalid limits.
    init(file path: String?) throws(ConfigurationError) {
        guard let path else {
            self.init()
            return
        }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ConfigurationError("LIFECYCLE_PROFILES_FILE: cannot read the file that it names")
        }
        do throws(DocumentError) {
            try self.init(overriding: Array(data))
        } catch {
            throw ConfigurationError("LIFECYCLE_PROFILES_FILE: \(error)")
        }
    }

    /// - Parameter document: the overrides by profile, as in `{"ios15":{"backgroundTasks":25}}`. `null` removes a
    ///   feature.
    init(overriding document: [UInt8]) throws(DocumentError) {
        let own: JSON
        do { own = try JSON(parsing: document) } catch {
            throw DocumentError([FieldError(pointer: "", detail: error.description)])
        }
        guard case .object = own else { throw DocumentError([FieldError(pointer: "", detail: "must be an object")]) }
        let standard: JSON
        do { standard = try JSON(parsing: LifecyclePolicy().jsonBytes) } catch {
            throw DocumentError([FieldError(pointer: "", detail: error.description)])
        }
        try self.init(json: standard.overlaid(with: own))
    }
}

extension JSON {
    /// Merges objects member by member, and replaces all other values.
    fileprivate func overlaid(with other: JSON) -> JSON {
        guard case .object(let members) = self, case .object(let others) = other else { return other }
        var merged = members.map { member in
            JSON.Member(member.name, other[member.name].map { member.value.overlaid(with: $0) } ?? member.value)
        }
        merged += others.filter { self[$0.name] == nil }
        return .object(merged)
    }
}
