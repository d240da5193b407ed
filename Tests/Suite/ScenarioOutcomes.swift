import Contracts
import Foundation
import Records
import Timeline

/// The outcome of each notification, refresh and transfer in a log, by names that do not depend on random identifiers.
struct ScenarioOutcomes: Equatable {
    /// The outcome of each notification, by its device, app, push type and time of receipt.
    var notifications: [String: String] = [:]
    /// The result of each refresh and task, by its device, app and due time.
    var refreshes: [String: String] = [:]

    /// The begin, the end and the bytes of each transfer, by its device, app, session and number.
    var transfers: [String: String] = [:]

    private struct Notification {
        var name: String
        var outcome = ""
        var arrival = "never"
    }

    /// - Parameters:
    ///   - events: CloudEvents in the order of the log.
    ///   - begin: the time to which all times refer.
    init(_ events: [JSON], from begin: Instant) throws {
        var found: [String: Notification] = [:]
        var order: [String] = []
        for event in events {
            guard let type = event["type"]?.string, let subject = event["subject"]?.string,
                let time = event["time"]?.string.flatMap({ Instant($0) })
            else { continue }
            let at = Self.text(time - begin)
            let data = event["data"] ?? .null
            if type.hasPrefix("push."), let push = try? PushEvent(type: type, version: 1, data: data.bytes) {
                if case .notificationReceived(let received) = push {
                    found[received.notification] = Notification(
                        name: "\(subject) \(received.pushType.rawValue) at \(at)")
                    order.append(received.notification)
                }
                guard let status = push.status, var notification = found[status.notification] else { continue }
                notification.outcome = "\(status.status.rawValue) at \(at)"
                if status.arrives, notification.arrival == "never" { notification.arrival = at }
                found[status.notification] = notification
            } else if type == FetchEvent.RefreshRecorded.type || type == FetchEvent.TaskRecorded.type {
                let due = data["dueAt"]?.string.flatMap { Instant($0) } ?? time
                let result = data["result"]?.string ?? data["refusal"]?.string ?? "none"
                refreshes["\(subject) \(type) due at \(Self.text(due - begin))"] = "\(result) at \(at)"
            } else if type.hasPrefix("transfer."), let session = data["session"]?.string, let task = data["task"]?.int {
                let name = "\(subject) \(session) \(task)"
                switch type {
                case TransferEvent.TaskCreated.type: transfers[name] = "created at \(at)"
                case TransferEvent.AttemptStarted.type, TransferEvent.AttemptEnded.type:
                    let words = data["end"]?.string.map { "\($0) with \(data["to"]?.int ?? 0) bytes" }
                    transfers[name, default: ""] += ", \(words ?? "attempt") at \(at)"
                case TransferEvent.TaskCompleted.type:
                    let code = data["error"]?["code"]?.int.map { "error \($0)" } ?? "completed"
                    transfers[name, default: ""] += ", \(code) at \(at)"
                default: break
                }
            }
        }
        for id in order {
            guard let notification = found[id] else { continue }
            // Two pushes may come at the same instant.
            var name = notification.name
            while notifications[name] != nil { name += " again" }
            notifications[name] = "\(notification.outcome), arrival \(notification.arrival)"
        }
    }

    private static func text(_ interval: Interval) -> String { "\(interval.seconds) s" }

    /// The differences, as lines.
    static func differences(_ simulated: [String: String], _ run: [String: String]) -> [String] {
        Set(simulated.keys).union(run.keys).sorted().compactMap { key in
            guard simulated[key] != run[key] else { return nil }
            return "\(key): simulated \(simulated[key] ?? "none"), in the suite \(run[key] ?? "none")"
        }
    }
}
