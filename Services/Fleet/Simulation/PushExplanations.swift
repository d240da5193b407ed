import Contracts
import Foundation
import Reports
import Timeline

/// The latest events of `push` about a device that explain the waits and the ends of its pushes.
///
/// `ops` finds the same events in the log, by the same ``PushReasonSource``.
struct PushExplanations {
    /// An event that explains others.
    struct Note {
        let at: Instant
        let data: any EventData
    }

    private var disconnection: Note?
    private var conditions: Note?
    private var settings: [String: Note] = [:]
    /// The charges of each app that were not refunded, the latest last.
    private var charges: [String: [Note]] = [:]
    private var receipts: [String: Note] = [:]
    private var lastReceipt: (id: String, note: Note)?

    /// More charges than a reason has, because the latest ones can be refunded.
    private static let mostCharges = 2 * PushReasonSource.mostCharges

    /// - Parameter isAwaited: whether a notification has not arrived yet. Only its receipt is kept.
    mutating func note(_ event: PushEvent, at time: Instant, isAwaited: (String) -> Bool) {
        switch event {
        case .deviceDisconnected(let data): disconnection = Note(at: time, data: data)
        case .conditionsChanged(let data): conditions = Note(at: time, data: data)
        case .appUpdated(let data): settings[data.app ?? ""] = Note(at: time, data: data)
        case .budgetChanged(let data): note(data, at: time)
        case .notificationReceived(let data):
            let note = Note(at: time, data: data)
            lastReceipt = (data.notification, note)
            if isAwaited(data.notification) { receipts[data.notification] = note }
        default: break
        }
    }

    private mutating func note(_ change: PushEvent.BudgetChanged, at time: Instant) {
        var list = charges[change.app ?? ""] ?? []
        if change.charged {
            list.append(Note(at: time, data: change))
            if list.count > Self.mostCharges { list.removeFirst() }
        } else if let refunded = list.lastIndex(where: {
            ($0.data as? PushEvent.BudgetChanged)?.notification == change.notification
        }) {
            list.remove(at: refunded)
        }
        charges[change.app ?? ""] = list
    }

    /// Forgets the receipt of a push that arrived or never will.
    mutating func end(_ notification: String) { receipts[notification] = nil }

    /// Returns the events that explain an event of a push, without its cause and its own earlier events.
    func reasons(of event: PushEvent) -> [(kind: PushReasonKind, note: Note)] {
        event.reasonSources.flatMap { source -> [(kind: PushReasonKind, note: Note)] in
            switch source {
            case .cause, .wait: []
            case .latest(let kind, let type, let app): latest(type, app).map { [(kind, $0)] } ?? []
            case .charges(let app):
                (charges[app ?? ""] ?? []).reversed().prefix(PushReasonSource.mostCharges).map { (.budget, $0) }
            case .received(let id):
                (receipts[id] ?? lastReceipt.flatMap { $0.id == id ? $0.note : nil }).map { [(.replacement, $0)] } ?? []
            }
        }
    }

    private func latest(_ type: String, _ app: String?) -> Note? {
        switch type {
        case PushEvent.DeviceDisconnected.type: disconnection
        case PushEvent.ConditionsChanged.type: conditions
        case PushEvent.AppUpdated.type: settings[app ?? ""]
        default: nil
        }
    }

    /// All events for a snapshot. ``note(_:at:isAwaited:)`` restores them in this order.
    var notes: [Note] {
        func sorted<Value>(_ notes: [String: Value]) -> [Value] { notes.sorted { $0.key < $1.key }.map(\.value) }
        return [disconnection, conditions].compactMap { $0 } + sorted(settings) + sorted(charges).flatMap { $0 }
            + sorted(receipts) + [lastReceipt?.note].compactMap { $0 }
    }
}
