import Contracts
import Records
import Timeline

/// The figures of a log of CloudEvents, counted from its lines alone.
struct LoggedFigures {
    /// A figure of an app or of one kind of its pushes.
    struct App {
        var ages: [Double] = []
        var crashes = 0
        /// The seconds from the receipt to the arrival, by content.
        var delays: [String: [Double]] = [:]
        var kills: [String: Int] = [:]
        /// Discarded and replaced pushes by content and status.
        var lost: [String: [String: Int]] = [:]
        var received: [String: Int] = [:]
        var refreshes: [Double] = []
        var transfers: [Double] = []
        var transfersStarted = 0
        var wakes: [String: Int] = [:]
        var wakesRefused: [String: Int] = [:]
    }

    var apps: [String: App] = [:]
    var bytes = 0
    var millijoules = 0
    var openings = Array(repeating: 0, count: 24)
    var refreshes = Array(repeating: 0, count: 24)

    /// A push that was received.
    private struct Push { var app, content: String, at: Double }

    /// - Parameter offset: the seconds between UTC and the clocks of all devices.
    init(_ log: [JSON], offset: Double = 0) {
        var pushes: [String: Push] = [:]
        var starts: [String: Double] = [:]
        for event in log {
            let subject = (event["subject"]?.string ?? "").split(separator: "/", maxSplits: 1).map(String.init)
            let (app, at, data) = (
                subject.count > 1 ? subject[1] : "", Self.seconds(event["time"]), event["data"] ?? .null
            )
            let type = event["type"]?.string ?? ""
            let id = data["notification"]?.string ?? ""
            let result = data["result"]?.string ?? ""
            switch type {
            case "push.notification.received":
                let content = data["silent"] == true ? "silent" : "alert"
                pushes[id] = Push(app: app, content: content, at: at)
                apps[app, default: App()].received[content, default: 0] += 1
            case "push.notification.discarded", "push.notification.replaced":
                guard let push = pushes.removeValue(forKey: id) else { continue }
                apps[push.app]?.lost[push.content, default: [:]][data["status"]?.string ?? "", default: 0] += 1
            case "lifecycle.app.woken":
                apps[app, default: App()].wakes[data["kind"]?.string ?? data["reason"]?.string ?? "", default: 0] += 1
            case "lifecycle.wake.refused":
                apps[app, default: App()].wakesRefused[data["refusal"]?.string ?? "", default: 0] += 1
            case "lifecycle.app.terminated":
                let reason = data["reason"]?.string ?? ""
                if reason == "crash" { apps[app, default: App()].crashes += 1 }
                guard EndReason(rawValue: reason)?.isOfSystem == true else { continue }
                apps[app, default: App()].kills[data["code"]?.string ?? reason, default: 0] += 1
            case "fetch.app.opened":
                openings[Self.hour(at + offset)] += 1
                if let age = data["contentAgeSeconds"]?.double { apps[app, default: App()].ages.append(age) }
            case "fetch.refresh.recorded", "fetch.task.recorded":
                millijoules += data["millijoules"]?.int ?? 0
                let isDone =
                    ["newData", "noData"].contains(result)
                    || data["kind"] == "refresh" && result == "succeeded"
                guard isDone else { continue }
                apps[app, default: App()].refreshes.append(at - Self.seconds(data["dueAt"]))
                refreshes[Self.hour(at + offset)] += 1
            case "transfer.task.created", "transfer.task.completed":
                let key = "\(subject) \(data["session"]?.string ?? "") \(data["task"]?.int ?? 0)"
                if type.hasSuffix("created") {
                    starts[key] = at
                    apps[app, default: App()].transfersStarted += 1
                } else if let start = starts[key], data["error"] == nil || data["error"] == .null {
                    apps[app, default: App()].transfers.append(at - start)
                }
            case "transfer.progress.made", "transfer.body.sent":
                bytes += data["bytesWritten"]?.int ?? data["bytesSent"]?.int ?? 0
            default: break
            }
            guard type == "push.notification.presented" || data["arrived"] == true,
                let push = pushes.removeValue(forKey: id)
            else { continue }
            apps[push.app]?.delays[push.content, default: []].append(at - push.at)
        }
    }

    /// The nearest rank: the smallest value that is not below the share of all values.
    static func percentile(_ percent: Int, _ values: [Double]) -> Double? {
        values.sorted().enumerated().first { Double($0.offset + 1) * 100 >= Double(percent * values.count) }?.element
    }

    private static func hour(_ seconds: Double) -> Int { Int(seconds / 3600) % 24 }

    private static func seconds(_ time: JSON?) -> Double {
        time?.string.flatMap { Instant($0) }.map { Double($0.milliseconds) / 1000 } ?? 0
    }
}
