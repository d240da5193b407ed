public import Foundation
public import Records

/// A story of one aggregate, as a data file: what happens when, and what must come of it.
public struct Trace: Record {
    /// Where the rule that it shows is written.
    public var source = ""
    /// Settings of the policy, for the suite to interpret.
    public var policy: JSON = [:]
    public var steps: [TraceStep] = []

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.defaulted("policy", &policy)
        fields.field("source", &source, .text(1...500))
        fields.field("steps", &steps, .count(1...500))
    }

    /// All traces of a folder, by the names of their files.
    public static func all(in folder: URL) throws -> [(name: String, trace: Trace)] {
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return try files.filter { $0.pathExtension == "json" }.sorted { $0.path < $1.path }.map { file in
            let name = file.deletingPathExtension().lastPathComponent
            do { return (name, try Trace(jsonBytes: try Data(contentsOf: file))) } catch {
                throw TraceFailed(place: name, reasons: ["\(error)"])
            }
        }
    }
}

/// One moment of a trace.
///
/// Identifiers that the machine makes up go by the aliases that the player gives them (`fetch-1`, `fetch-2`, …); moments go by
/// their seconds after the beginning, in documents as `"@130"`.
public struct TraceStep: Record {
    /// Seconds after the beginning.
    public var at = 0.0
    /// The name of a command, the type of another service's event, or `advance`.
    public var action = ""
    /// A word or document that the action takes. Of an event, the members that matter.
    public var with: JSON = .null
    /// The events that follow: for each its type without the service's name, and any of its members; `occurs` is its second.
    public var events: [JSON] = []
    /// The code of the refusal that follows instead.
    public var refused: String?
    /// Any part of the state after it.
    public var state: JSON = [:]

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("at", &at)
        fields.field("do", &action)
        fields.defaulted("events", &events)
        fields.omittable("refused", &refused)
        fields.defaulted("state", &state)
        fields.defaulted("with", &with)
    }
}

/// A trace did not come out.
public struct TraceFailed: Error, CustomStringConvertible {
    public let place: String
    public let reasons: [String]

    public init(place: String, reasons: [String]) {
        self.place = place
        self.reasons = reasons
    }

    public var description: String { "\(place): \(reasons.joined(separator: "; "))" }
}
