import Contracts
import Records
import Scenarios
import Timeline

// Exports of videos: the user starts one on screen, and it goes on as a continued processing task in the background.
extension SimulatedDevice {
    /// The percentage of the uses of the app in which a user starts an export (our choice).
    static let exporting = 40
    /// The percentage of exports that report no progress, so that the system expires them (our choice).
    static let stalling = 5
    /// The percentage of exports that the user cancels (our choice).
    static let cancelling = 10

    mutating func wantExport(_ app: Int, at now: Instant, stay: Interval) {
        guard apps[app].model.exports, services.contains(.fetch), has(.continuedProcessingTasks) else { return }
        drop(app) { $0 == .export }
        if random.percent(Self.exporting) { schedule(.export, of: app, at: now + stay / 4) }
    }

    /// Submits an export, if the app is still on screen.
    mutating func export(_ app: Int, at now: Instant) -> [Action] {
        guard onScreen == app, apps[app].state == .active else { return [] }
        apps[app].exports += 1
        let identifier = apps[app].model.exportPrefix + "\(now.milliseconds).\(apps[app].exports)"
        if random.percent(Self.cancelling) {
            schedule(.cancelExport(identifier), of: app, in: .seconds(2)...(.minutes(1)), after: now)
        }
        return [.export(app: apps[app].model.identifier, identifier: identifier)]
    }

    /// The launch handler of an export. On screen, the app stays there.
    mutating func beginExport(_ app: Int, _ order: Order, at now: Instant) {
        guard let wake = order.data["wake"]?.string else { return }
        if !apps[app].state.isForeground { apps[app].learn(.background, asOf: order.position?.offset) }
        apps[app].wakes.append(wake)
        guard !random.percent(Self.stalling) else { return }
        let takes = pace.real(random.interval(.minutes(1)...(.minutes(8))), atLeast: .seconds(2))
        // The limit for progress is in the time of the suite.
        let parts = max(2, Int(takes.milliseconds / 15_000))
        for part in 1..<parts {
            let time = takes * Int64(part) / Int64(parts)
            schedule(.reportProgress(wake, part: part, of: parts), of: app, at: now + time)
        }
        schedule(.completeWake(wake, reason: "task"), of: app, at: now + takes)
    }
}

extension Order {
    /// Whether it calls the launch handler of a continued processing task.
    var startsExport: Bool { data["kind"]?.string == "continuedProcessingTask" }
}

extension SimulatedApp.State {
    /// Whether the app is on screen.
    fileprivate var isForeground: Bool { self == .active || self == .inactive }
}
