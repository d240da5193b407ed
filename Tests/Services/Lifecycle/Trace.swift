import Contracts
import Foundation
import LifecycleMachine
import Machines
import Records
import Timeline

/// A story of one device, as a data file: what happens when, and what must come of it.
struct Trace: Record {
    var source = ""
    var profile = ProfileName.ios15
    var registration: JSON = [:]
    var apps: JSON = [:]
    var steps: [Step] = []

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.defaulted("apps", &apps)
        fields.field("profile", &profile)
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

/// One moment of a trace. Identifiers that the machine makes up are called `task-1`, `wake-1` and so on, in order.
struct Step: Record {
    /// Seconds after the beginning.
    var at = 0.0
    /// A command's name, `refreshDue`, `pushWakeRequested`, `transferWakeRequested`, `advance`, or `outage`, which ends then.
    var action = ""
    var app: String?
    /// A word or document that the action takes.
    var with: JSON?
    /// The events that follow: for each its type without `lifecycle.`, and any of its members.
    var events: [JSON] = []
    /// The code of the refusal that follows instead.
    var refused: String?
    /// The states after it, of any apps.
    var states: JSON?
    var switcher: [String]?

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("app", &app)
        fields.field("at", &at)
        fields.field("do", &action)
        fields.defaulted("events", &events)
        fields.omittable("refused", &refused)
        fields.omittable("states", &states)
        fields.omittable("switcher", &switcher)
        fields.omittable("with", &with)
    }
}
