import Foundation
import Records

/// A story of one device, as a data file: what happens when, and what must come of it.
struct Trace: Record {
    var source = ""
    /// What the device says of itself when it is registered.
    var registration: JSON = ["profile": "ios15"]
    /// Installed at the beginning, by their manifests; all register for notifications.
    var apps: JSON = [:]
    var steps: [Step] = []

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.defaulted("apps", &apps)
        fields.defaulted("registration", &registration)
        fields.field("source", &source)
        fields.field("steps", &steps)
    }

    /// All traces of the bundle, by the names of their files.
    static func all() throws -> [(name: String, trace: Trace)] {
        guard let folder = Bundle.module.url(forResource: "Traces", withExtension: nil) else { return [] }
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return try files.filter { $0.pathExtension == "json" }.sorted { $0.path < $1.path }.map {
            ($0.deletingPathExtension().lastPathComponent, try Trace(jsonBytes: try Data(contentsOf: $0)))
        }
    }
}

/// One moment of a trace.
struct Step: Record {
    /// Seconds after the beginning.
    var at = 0.0
    /// A command's name, a `lifecycle` event's type without its service, or `advance`.
    var action = ""
    var app: String?
    /// A word or document that the action takes.
    var with: JSON?
    /// The events that follow: for each its type without `push.`, and any of its members; or the type alone.
    var events: [JSON] = []
    /// The code of the refusal that follows instead.
    var refused: String?

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("app", &app)
        fields.field("at", &at)
        fields.field("do", &action)
        fields.defaulted("events", &events)
        fields.omittable("refused", &refused)
        fields.omittable("with", &with)
    }
}
