import Contracts
import FetchMachine
import OrderedCollections
import Records
import Timeline

/// The interval that an app requests.
struct IntervalRequest: Record {
    var interval = FetchInterval.never

    mutating func visit<V: FieldVisitor>(_ fields: inout V) { fields.field("interval", &interval) }
}

/// The interval of an app and its effect.
struct IntervalDocument: Record {
    var app = ""
    var interval = FetchInterval.never
    /// False if the interval is stored without effect: for an app without the mode `fetch` or with task requests instead.
    var inEffect = false
    /// The reserved time of the next refresh; null while factors block it.
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

/// A refresh, in progress or ended. Null means that something has not happened.
struct FetchDocument: Record {
    var fetch = ""
    var app = ""
    var dueAt = Instant.epoch
    var startedAt: Instant?
    var completedAt: Instant?
    var result: FetchResult?
    var refusal: String?
    var elapsedSeconds: Interval?
    /// The bytes that its handler loaded, as the device reports; null if it does not.
    var bytesReceived: Int?
    /// The energy that it spent, in millijoules; 0 on a charger.
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
    /// The cursor of the next page; null on the last one.
    var next: String?

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("items", &items)
        fields.field("next", &next)
    }
}
