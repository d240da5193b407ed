import Contracts
import FetchMachine
import OrderedCollections
import Records
import Timeline

/// The interval that an app asks for.
struct IntervalRequest: Record {
    var interval = FetchInterval.never

    mutating func visit<V: FieldVisitor>(_ fields: inout V) { fields.field("interval", &interval) }
}

/// The interval of an app, and what comes of it.
struct IntervalDocument: Record {
    var app = ""
    var interval = FetchInterval.never
    /// False for an app without the mode `fetch`, or with task requests in its place: the interval is kept, and has no effect.
    var inEffect = false
    /// The chosen moment of the next refresh; nil while it must wait.
    var nextFetch: Instant?

    init() {}

    init(_ name: String, _ device: FetchMachine) {
        let app = device.apps[name]
        self.app = name
        interval = app?.interval ?? .never
        inEffect = app.map { $0.fetches(on: device.profile) && $0.interval != .never } ?? false
        nextFetch = app?.wait?.at
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("app", &app)
        fields.field("inEffect", &inEffect)
        fields.field("interval", &interval)
        fields.field("nextFetch", &nextFetch)
    }
}

/// A refresh, under way or ended; null is what has not happened.
struct FetchDocument: Record {
    var fetch = ""
    var app = ""
    var dueAt = Instant.epoch
    var startedAt: Instant?
    var completedAt: Instant?
    var result: FetchResult?
    var refusal: String?
    var elapsedSeconds: Interval?
    /// What its handler loaded, as the device says; null where it does not.
    var bytesReceived: Int?
    /// What it spent of the energy budgets, in millijoules: nothing on a charger.
    var energyMillijoules = 0
    var simulated = false

    init() {}

    init(_ app: String, _ running: RunningFetch) {
        fetch = running.fetch
        self.app = app
        dueAt = running.dueAt
        startedAt = running.startedAt
        simulated = running.simulated
    }

    init(_ record: FetchEvent.RefreshRecorded) {
        fetch = record.fetch
        app = record.app ?? ""
        dueAt = record.dueAt
        startedAt = record.startedAt
        completedAt = record.completedAt
        result = record.result
        refusal = record.refusal
        elapsedSeconds = record.elapsedSeconds
        bytesReceived = record.bytesReceived
        energyMillijoules = record.millijoules
        simulated = record.simulated
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("app", &app)
        fields.field("bytesReceived", &bytesReceived)
        fields.field("completedAt", &completedAt)
        fields.field("dueAt", &dueAt)
        fields.field("elapsedSeconds", &elapsedSeconds)
        fields.field("energyMillijoules", &energyMillijoules)
        fields.field("fetch", &fetch)
        fields.field("refusal", &refusal)
        fields.field("result", &result)
        fields.field("simulated", &simulated)
        fields.field("startedAt", &startedAt)
    }
}

/// Refreshes of an app, newest first.
struct FetchPage: Record {
    var items: [FetchDocument] = []
    /// Where the next page begins; nil on the last one.
    var next: String?

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("items", &items)
        fields.field("next", &next)
    }
}
