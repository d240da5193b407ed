import Contracts
import Records
import Timeline

/// The counts of events in a window of suite time.
struct Stats: Record {
    var ended: [EndCount] = []
    var events = 0
    /// Seconds per point.
    var interval = 60
    /// Events in the log that are not counted yet.
    var lag = 0
    var notifications: [StatusCount] = []
    var now = StatsNow()
    /// One point per interval, oldest first.
    var points: [StatsPoint] = []
    var refused: [ReasonCount] = []
    var since = Instant.epoch
    var transfers = TransferTotals()
    var types: [TypeCount] = []
    var until = Instant.epoch
    var woken: [ReasonCount] = []

    init(_ window: StatsWindow) {
        interval = window.interval
        since = Instant(milliseconds: Int64(window.since) * 1000)
        until = Instant(milliseconds: Int64(window.until) * 1000)
        points = (0..<window.points).map { index in
            var point = StatsPoint()
            point.time = since + .seconds(Int64(index * interval))
            return point
        }
    }

    /// Adds the count of one type and label.
    mutating func count(_ type: String, _ label: String, _ events: Int, _ amount: Int) {
        self.events += events
        if let index = types.firstIndex(where: { $0.type == type }) {
            types[index].events += events
        } else {
            types.append(TypeCount(type, events))
        }
        switch type {
        case LifecycleEvent.AppWoken.type: woken.append(ReasonCount(label, events))
        case LifecycleEvent.WakeRefused.type: refused.append(ReasonCount(label, events))
        case LifecycleEvent.AppTerminated.type: ended.append(EndCount(label, events))
        case TransferEvent.TaskCompleted.type where label.isEmpty: transfers.completed += events
        case TransferEvent.TaskCompleted.type: transfers.failed += events
        case TransferEvent.ProgressMade.type: transfers.bytesReceived += amount
        case TransferEvent.BodySent.type: transfers.bytesSent += amount
        default:
            guard type.hasPrefix("push."), !label.isEmpty else { return }
            if let index = notifications.firstIndex(where: { $0.status == label }) {
                notifications[index].count += events
            } else {
                notifications.append(StatusCount(label, events))
            }
        }
    }

    /// Adds the count of one series to one point.
    mutating func count(point: Int, series: String, _ events: Int, _ amount: Int) {
        guard points.indices.contains(point) else { return }
        points[point].count(series, events, amount)
    }

    /// Sorts each list by count, highest first.
    mutating func sort() {
        types.sort { ($1.events, $0.type) < ($0.events, $1.type) }
        woken.sort { ($1.count, $0.reason) < ($0.count, $1.reason) }
        refused.sort { ($1.count, $0.reason) < ($0.count, $1.reason) }
        ended.sort { ($1.count, $0.reason) < ($0.count, $1.reason) }
        notifications.sort { ($1.count, $0.status) < ($0.count, $1.status) }
    }
}

/// The number of events of a type.
struct TypeCount: Record {
    var events = 0
    var type = ""

    init(_ type: String, _ events: Int) { (self.type, self.events) = (type, events) }
}

/// The number of granted or refused wakes with one reason.
struct ReasonCount: Record {
    var count = 0
    var reason = ""

    init(_ reason: String, _ count: Int) { (self.reason, self.count) = (reason, count) }
}

/// The number of app terminations with one reason.
struct EndCount: Record {
    /// Apple's exit code, if the system killed the app.
    var code: Nullable<String> = nil
    var count = 0
    var reason = ""

    /// - Parameter label: the reason, optionally followed by a space and the code.
    init(_ label: String, _ count: Int) {
        let words = label.split(separator: " ")
        reason = words.first.map(String.init) ?? ""
        code = words.dropFirst().first.map(String.init)
        self.count = count
    }
}

/// The number of notifications with one status.
struct StatusCount: Record {
    var count = 0
    var status = ""

    init(_ status: String, _ count: Int) { (self.status, self.count) = (status, count) }
}

/// The bytes and results of transfers.
struct TransferTotals: Record {
    var bytesReceived = 0
    var bytesSent = 0
    var completed = 0
    var failed = 0
}

/// The current devices and apps, as of the last counted event.
struct StatsNow: Record {
    /// The number of apps in one state.
    struct Apps: Record {
        var count = 0
        var state = ""
    }

    var apps: [Apps] = []
    var devices = 0
    /// The number of devices that charge their battery.
    var devicesCharging = 0
    var devicesInLowPowerMode = 0
    var devicesLocked = 0
    /// The number of devices whose battery has less than ``lowBattery`` percent.
    var devicesLowOnBattery = 0
    /// The number of devices that are turned off.
    var devicesOff = 0

    /// A percentage (our choice).
    static let lowBattery = 20

    init(_ totals: [(name: String, total: Int)], devicesOff: Int) {
        self.devicesOff = devicesOff
        for (name, total) in totals where total > 0 {
            guard name != "devices" else {
                devices = total
                continue
            }
            var apps = Apps()
            (apps.state, apps.count) = (name, total)
            self.apps.append(apps)
        }
        apps.sort { ($1.count, $0.state) < ($0.count, $1.state) }
    }
}
