/// The keys of log metadata. Pass an error as `error:` instead of metadata; the key of its line is also ``error``.
public enum LogKey {
    // Requests and their callers.
    public static let trace = "trace"
    public static let method = "method"
    public static let route = "route"
    public static let path = "path"
    public static let status = "status"
    /// The time until an answer begins.
    public static let milliseconds = "milliseconds"
    /// The kind and name of a caller, such as `operator:alice`.
    public static let caller = "caller"
    /// The address of a client.
    public static let address = "address"
    /// The number of requests that a line summarises.
    public static let requests = "requests"

    // Faults.
    /// The error of a line that has no `error:`.
    public static let error = "error"
    public static let reason = "reason"
    public static let detail = "detail"
    /// A notice of PostgreSQL.
    public static let notice = "notice"
    public static let consequence = "consequence"
    /// The number of failures in a row.
    public static let failures = "failures"
    public static let nextAttemptIn = "next_attempt_in"
    /// The name of a health check.
    public static let check = "check"
    /// The time limit that was exceeded.
    public static let limit = "limit"

    // The log and its partitions.
    public static let partition = "partition"
    public static let offset = "offset"
    /// The key of an aggregate, such as `device:d1`. A name that ends in `key` would mark a secret.
    public static let aggregate = "aggregate"
    public static let device = "device"
    public static let command = "command"
    public static let inputs = "inputs"
    /// A day of the log.
    public static let day = "day"
    /// The time of the newest event.
    public static let newest = "newest"
    /// The time from which retention counts.
    public static let countedFrom = "countedFrom"
    public static let consumers = "consumers"
    public static let waitsFor = "waits-for"
    /// The difference between two clocks.
    public static let seconds = "seconds"

    // States.
    public static let version = "version"
    /// The number of upgraded states.
    public static let states = "states"
    /// The number of states that no program can read.
    public static let unreadable = "unreadable"

    // The database.
    public static let schema = "schema"
    /// The number of a migration.
    public static let number = "number"
    public static let name = "name"
    public static let channels = "channels"
    /// The process id of a database session.
    public static let pid = "pid"
    public static let role = "role"

    // Services.
    public static let broadcast = "broadcast"
    /// A process that holds connections of devices.
    public static let holder = "holder"
    public static let task = "task"
    public static let count = "count"
    public static let upload = "upload"
    public static let file = "file"
    public static let files = "files"
    public static let folder = "folder"
    /// The number of unreferenced files.
    public static let leftovers = "leftovers"
}
