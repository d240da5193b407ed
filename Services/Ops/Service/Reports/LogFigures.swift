import Contracts
import Foundation
import OrderedCollections
import Reports
import Timeline

/// The figures of a report, as the fold of the events in a time range. The events of each device come in their order.
struct LogFigures {
    /// An app of a device.
    struct AppKey: Hashable {
        let key: String
        let app: String
    }

    /// A task of a session.
    private struct TransferKey: Hashable {
        let app: AppKey
        let session: String
        let task: Int
    }

    private let until: Instant
    /// The number of events, also of those that the figures do not use.
    var events = 0
    private(set) var apps: [String: AppFigures] = [:]
    private(set) var energy = 0
    private(set) var openings = Array(repeating: 0, count: 24)
    private(set) var refreshes = Array(repeating: 0, count: 24)
    private(set) var states: StateTimes
    private var current: [AppKey: (state: AppState, since: Instant)]
    private var starts: [TransferKey: Instant] = [:]
    private var networks: [String: String] = [:]
    /// Moved bytes by kind of network.
    private(set) var bytes: [String: Int] = [:]
    /// The bytes of devices whose network did not change before in the range.
    private(set) var bytesOfUnknownNetwork: [String: Int] = [:]
    private let zones: [String: TimeZone]

    /// - Parameters:
    ///   - states: the states of apps at the begin of the range. An app that is not in it has no state before its first
    ///     event.
    ///   - zones: the time zones of devices by their keys; UTC for others.
    init(from begin: Instant, until: Instant, states: [AppKey: AppState], zones: [String: TimeZone]) {
        self.until = until
        self.zones = zones
        self.states = StateTimes(from: begin, until: until)
        current = states.mapValues { ($0, begin) }
    }

    mutating func add(_ fact: LogFact) {
        switch fact.type {
        case LifecycleEvent.AppInstalled.type:
            let key = AppKey(key: fact.key, app: fact.app)
            // The installation of an app that is already installed does not change its state.
            if current[key] == nil { current[key] = (.notRunning, fact.time) }
        case LifecycleEvent.AppUninstalled.type: end(AppKey(key: fact.key, app: fact.app), at: fact.time)
        case LifecycleEvent.DeviceDeregistered.type:
            for key in current.keys.filter({ $0.key == fact.key }) { end(key, at: fact.time) }
        case FetchEvent.AppOpened.type:
            if let age = fact.milliseconds { apps[fact.app, default: AppFigures()].contentAges.append(age.interval) }
            openings[(fact.number ?? 0) % 24] += 1
        case FetchEvent.RefreshRecorded.type:
            energy += fact.number ?? 0
            let result = fact.word.flatMap(FetchResult.init)
            if result == .newData || result == .noData { addRefresh(fact) }
        case FetchEvent.TaskRecorded.type:
            energy += fact.number ?? 0
            if fact.detail == TaskRequestKind.refresh.rawValue, fact.word == TaskResult.succeeded.rawValue {
                addRefresh(fact)
            }
        case TransferEvent.DeviceUpdated.type: if let network = fact.word { networks[fact.key] = network }
        case TransferEvent.ProgressMade.type, TransferEvent.BodySent.type: addBytes(fact)
        case TransferEvent.TaskCreated.type, TransferEvent.TaskCompleted.type: addTransfer(fact)
        default: addChange(fact)
        }
    }

    /// Ends the fold.
    ///
    /// - Parameter networks: the networks of devices at the begin of the range.
    mutating func finish(networks: [String: String]) {
        for (key, count) in bytesOfUnknownNetwork { bytes[networks[key] ?? "unknown", default: 0] += count }
        bytesOfUnknownNetwork = [:]
        for (_, app) in current { states.add(app.state, from: app.since, until: until) }
        current = [:]
    }

    /// Adds an event of `lifecycle` about an app.
    private mutating func addChange(_ fact: LogFact) {
        switch fact.type {
        case LifecycleEvent.AppWoken.type: apps[fact.app, default: AppFigures()].wakes[fact.word ?? "", default: 0] += 1
        case LifecycleEvent.WakeRefused.type:
            apps[fact.app, default: AppFigures()].wakesRefused[fact.word ?? "", default: 0] += 1
        case LifecycleEvent.AppTerminated.type:
            let reason = fact.word.flatMap(EndReason.init)
            if reason == .crash { apps[fact.app, default: AppFigures()].crashes += 1 }
            if reason?.isOfSystem == true {
                apps[fact.app, default: AppFigures()].kills[fact.detail ?? fact.word ?? "", default: 0] += 1
            }
        default: break
        }
        guard let state = fact.state.flatMap(AppState.init) else { return }
        let key = AppKey(key: fact.key, app: fact.app)
        guard let last = current[key] else { return current[key] = (state, fact.time) }
        guard last.state != state else { return }
        states.add(last.state, from: last.since, until: fact.time)
        current[key] = (state, fact.time)
    }

    private mutating func end(_ key: AppKey, at time: Instant) {
        guard let last = current.removeValue(forKey: key) else { return }
        states.add(last.state, from: last.since, until: time)
    }

    private mutating func addRefresh(_ fact: LogFact) {
        guard let due = fact.milliseconds else { return }
        let duration = fact.time - Instant(milliseconds: Int64(due))
        apps[fact.app, default: AppFigures()].refreshes.append(duration)
        let date = Date(timeIntervalSince1970: Double(fact.time.milliseconds) / 1000)
        let offset = Int64(zones[fact.key]?.secondsFromGMT(for: date) ?? 0)
        let hours = (fact.time + .seconds(offset)).milliseconds / Interval.hours(1).milliseconds
        refreshes[Int((hours % 24 + 24) % 24)] += 1
    }

    private mutating func addBytes(_ fact: LogFact) {
        guard let count = fact.number else { return }
        if let network = networks[fact.key] {
            bytes[network, default: 0] += count
        } else {
            bytesOfUnknownNetwork[fact.key, default: 0] += count
        }
    }

    private mutating func addTransfer(_ fact: LogFact) {
        let app = AppKey(key: fact.key, app: fact.app)
        let key = TransferKey(app: app, session: fact.word ?? "", task: fact.number ?? 0)
        guard fact.type == TransferEvent.TaskCompleted.type else {
            starts[key] = fact.time
            return apps[fact.app, default: AppFigures()].transfersStarted += 1
        }
        guard let start = starts.removeValue(forKey: key), fact.detail == nil else { return }
        apps[fact.app, default: AppFigures()].transfers.append(fact.time - start)
    }
}

/// The figures of an app, without its pushes.
struct AppFigures {
    var contentAges: [Interval] = []
    var crashes = 0
    var kills: [String: Int] = [:]
    var refreshes: [Interval] = []
    var transfers: [Interval] = []
    var transfersStarted = 0
    var wakes: [String: Int] = [:]
    var wakesRefused: [String: Int] = [:]

    func document(of app: String, pushes: [PushReport]) -> AppReport {
        var report = AppReport()
        report.contentAgeSeconds = contentAges.percentiles
        report.crashes = crashes
        report.id = app
        report.kills = OrderedDictionary(sorting: kills)
        report.pushes = pushes
        report.refreshSeconds = refreshes.percentiles
        report.refreshes = refreshes.count
        report.transferSeconds = transfers.percentiles
        report.transfersCompleted = transfers.count
        report.transfersStarted = transfersStarted
        report.wakes = OrderedDictionary(sorting: wakes)
        report.wakesRefused = OrderedDictionary(sorting: wakesRefused)
        return report
    }
}

extension Int {
    /// The number of milliseconds as an interval.
    fileprivate var interval: Interval { .milliseconds(Int64(self)) }
}
