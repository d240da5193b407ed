import Contracts
import FetchCore
import OrderedCollections
import Records
import Timeline

/// The interval that an app requests.
struct IntervalRequest: Record {
    var interval = FetchInterval.never
}

/// The interval of an app and its effect.
struct IntervalDocument: Record {
    var app = ""
    /// False if the interval is stored without effect: for an app without the mode `fetch` or with task requests instead.
    var inEffect = false
    var interval = FetchInterval.never
    /// The reserved time of the next refresh; null while factors block it.
    var nextFetch: Nullable<Instant> = nil

    init(_ name: String, _ device: FetchMachine, _ policy: FetchPolicy) {
        let app = device.apps[name]
        self.app = name
        interval = app?.interval ?? .never
        inEffect = app.map { $0.fetches(on: policy.profile(of: device)) && $0.interval != .never } ?? false
        nextFetch = app?.wait?.at
    }
}

/// A refresh, in progress or ended. Null means that something has not happened.
struct FetchDocument: Record {
    var app = ""
    /// The bytes that its handler loaded, as the device reports; null if it does not.
    var bytesReceived: Nullable<Int> = nil
    var completedAt: Nullable<Instant> = nil
    var dueAt = Instant.epoch
    var elapsedSeconds: Nullable<Interval> = nil
    /// The energy that it spent, in millijoules; 0 on a charger.
    var energyMillijoules = 0
    var fetch = ""
    var refusal: Nullable<String> = nil
    var result: Nullable<FetchResult> = nil
    var simulated = false
    var startedAt: Nullable<Instant> = nil

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
}
