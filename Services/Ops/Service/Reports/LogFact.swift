import Contracts
import EventLog
import Postgres
import Timeline

/// The part of an event that a report needs.
struct LogFact {
    let type: String
    /// The key of the device.
    let key: String
    let app: String
    let time: Instant
    /// The kind of a wake, the reason of a refusal or an end, the result of a refresh or task, the session of a transfer,
    /// or the kind of network.
    let word: String?
    /// The code of an end, the kind of a task, or the error of a transfer.
    let detail: String?
    /// The state of the app after the event.
    let state: String?
    /// The hour of the week of an opening, the millijoules of a refresh or task, the number of a transfer, or moved bytes.
    let number: Int?
    /// The age of the content at an opening, or the due time of a refresh or task, in milliseconds.
    let milliseconds: Int?

    /// The types of the events that a report reads.
    static let types = [
        LifecycleEvent.AppInstalled.type, LifecycleEvent.AppUninstalled.type, LifecycleEvent.AppLaunched.type,
        LifecycleEvent.AppActivated.type, LifecycleEvent.AppResigned.type, LifecycleEvent.AppBackgrounded.type,
        LifecycleEvent.AppSuspended.type, LifecycleEvent.AppWoken.type, LifecycleEvent.AppTerminating.type,
        LifecycleEvent.AppTerminated.type, LifecycleEvent.WakeRefused.type, LifecycleEvent.DeviceDeregistered.type,
        FetchEvent.AppOpened.type, FetchEvent.RefreshRecorded.type, FetchEvent.TaskRecorded.type,
        TransferEvent.TaskCreated.type, TransferEvent.TaskCompleted.type, TransferEvent.ProgressMade.type,
        TransferEvent.BodySent.type, TransferEvent.DeviceUpdated.type,
    ]

    /// The columns of a fact, from an event `e`.
    static let columns = """
        e.type, e.key, coalesce(e.app, ''), e.time,
        CASE e.type
            WHEN 'lifecycle.app.woken' THEN coalesce(d.kind, d.reason) WHEN 'lifecycle.wake.refused' THEN d.refusal
            WHEN 'lifecycle.app.terminated' THEN d.reason WHEN 'transfer.device.updated' THEN d.network ->> 'kind'
            WHEN 'transfer.task.created' THEN d.session WHEN 'transfer.task.completed' THEN d.session
            ELSE d.result END,
        CASE e.type
            WHEN 'lifecycle.app.terminated' THEN d.code WHEN 'fetch.task.recorded' THEN d.kind
            WHEN 'transfer.task.completed' THEN d.error ->> 'code' END,
        d.state,
        CASE WHEN e.type LIKE 'transfer.task.%' THEN d.task
            ELSE coalesce(d."hourOfWeek", d."bytesWritten", d."bytesSent", d.millijoules) END,
        coalesce(round(d."contentAgeSeconds" * 1000)::int8, round(extract(epoch FROM d."dueAt") * 1000)::int8)
        """
    /// The members of ``columns`` in the data of an event `e`.
    static let members = """
        json_to_record(e.data) AS d (
            kind text, reason text, refusal text, code text, result text, state text, session text, task int8, error json,
            network json, "hourOfWeek" int8, "contentAgeSeconds" float8, "dueAt" timestamptz, millijoules int8,
            "bytesWritten" int8, "bytesSent" int8)
        """

    init(_ row: Row) throws(PostgresError) {
        (type, key, app, time, word, detail, state, number, milliseconds) = try row.decode(
            (String, String, String, Instant, String?, String?, String?, Int?, Int?).self)
    }
}
