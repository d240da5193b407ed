import Contracts
import Foundation
import Machines
import Records
import Timeline
import TransferMachine

/// A story of one device, as a data file: what happens when, and what must come of it. At its beginning the device is on Wi-Fi
/// with a full battery, the apps `a` and `b` are installed, `a` is on screen and has created the session `s`.
struct Trace: Record {
    var source = ""
    var configuration = SessionConfiguration()
    var steps: [Step] = []

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.defaulted("configuration", &configuration)
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
    /// A command's name, what happened at `lifecycle`, or `advance`.
    var action = ""
    var app = "a"
    var session = "s"
    var task = 1
    var mover = "m1"
    /// Of the attempt that a mover speaks of; the task's latest where it is not told.
    var epoch: Int?
    /// A word, number or document that the action takes.
    var with: JSON?
    /// The events that follow: for each its type without `transfer.`, and any of its members.
    var events: [JSON] = []
    /// The code of the refusal that follows instead.
    var refused: String?
    /// The tasks of the session after it: the state, and after a space why it waits.
    var tasks: JSON?

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.defaulted("app", &app)
        fields.field("at", &at)
        fields.field("do", &action)
        fields.omittable("epoch", &epoch)
        fields.defaulted("events", &events)
        fields.defaulted("mover", &mover)
        fields.omittable("refused", &refused)
        fields.defaulted("session", &session)
        fields.defaulted("task", &task)
        fields.omittable("tasks", &tasks)
        fields.omittable("with", &with)
    }
}
