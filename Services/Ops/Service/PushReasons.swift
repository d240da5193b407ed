import Contracts
import EventLog
import Foundation
import Records
import Reports

/// Finds the events that explain what happened to a notification.
struct PushReasons: Sendable {
    let queries: LogQueries
    let store: OpsStore

    /// Returns the events that explain an event of `push`; none for other events.
    func reasons(of event: Event) async throws -> [PushReason] {
        var found: [PushReason] = []
        for source in sources(of: event) {
            found += try await events(from: source, before: event).map(PushReason.init)
            guard case .wait(let notification) = source, let wait = try await wait(of: notification, before: event)
            else { continue }
            found += try await reasonsWithoutWait(of: wait)
        }
        return found
    }

    /// Returns the events that explain the outcome of a notification: those of its last event, its last wait, and those
    /// of the wait.
    func reasons(of push: FoundPush) async throws -> [PushReason] {
        guard let id = UUID(uuidString: push.row.event), let outcome = try await queries.event(id: id) else {
            return []
        }
        var found = try await reasonsWithoutWait(of: outcome)
        if let waitID = push.wait, waitID != id, let wait = try await queries.event(id: waitID) {
            found.append(PushReason(.wait, wait))
            found += try await reasonsWithoutWait(of: wait)
        }
        return found
    }

    private func reasonsWithoutWait(of event: Event) async throws -> [PushReason] {
        var found: [PushReason] = []
        for source in sources(of: event) {
            if case .wait = source { continue }
            found += try await events(from: source, before: event).map(PushReason.init)
        }
        return found
    }

    /// Returns the events that explain an event of a notification, without its cause and its own earlier events.
    func explanations(of event: Event, _ known: PushEvent) async throws -> [(kind: PushReasonKind, event: Event)] {
        var found: [(kind: PushReasonKind, event: Event)] = []
        for source in known.reasonSources {
            switch source {
            case .cause, .wait: continue
            case .latest, .charges, .received: found += try await events(from: source, before: event)
            }
        }
        return found
    }

    private func sources(of event: Event) -> [PushReasonSource] {
        // A newer program may have written an event that this one can't read. Its cause still explains it.
        guard event.source == PushEvent.source,
            let known = try? PushEvent(type: event.type, version: event.version, data: event.data)
        else { return [] }
        return known.reasonSources
    }

    private func events(
        from source: PushReasonSource, before event: Event
    ) async throws -> [(kind: PushReasonKind, event: Event)] {
        switch source {
        case .cause(let kind):
            guard let id = event.causation, let cause = try await queries.event(id: id) else { return [] }
            return [(kind, cause)]
        case .latest(let kind, let type, let app):
            return try await latest(type, app, 1, before: event).map { (kind, $0) }
        case .charges(let app): return try await charges(of: app, before: event).map { (.budget, $0) }
        case .received(let notification):
            guard let position = try await store.push(notification, lateAfter: 0)?.position,
                let newer = try await queries.event(partition: position.partition, offset: position.offset)
            else { return [] }
            return [(.replacement, newer)]
        case .wait(let notification):
            return try await wait(of: notification, before: event).map { [(.wait, $0)] } ?? []
        }
    }

    /// Returns the last wait of a notification, if it was before an event.
    private func wait(of notification: String, before event: Event) async throws -> Event? {
        guard let id = try await store.push(notification, lateAfter: 0)?.wait,
            let wait = try await queries.event(id: id),
            wait.offset < event.offset
        else { return nil }
        return wait
    }

    /// Returns the latest charges, newest first, without those that were refunded.
    private func charges(of app: String?, before event: Event) async throws -> [Event] {
        var refunded: Set<String> = []
        var charges: [Event] = []
        for found in try await latest(
            PushEvent.BudgetChanged.type, app, 4 * PushReasonSource.mostCharges, before: event)
        {
            guard let change = try? PushEvent.BudgetChanged(jsonBytes: found.data) else { continue }
            if !change.charged {
                refunded.insert(change.notification)
            } else if refunded.remove(change.notification) == nil {
                charges.append(found)
            }
        }
        return Array(charges.prefix(PushReasonSource.mostCharges))
    }

    /// Returns the latest events of a type about a device, newest first.
    private func latest(_ type: String, _ app: String?, _ count: Int, before event: Event) async throws -> [Event] {
        var filter = EventFilter()
        (filter.types, filter.key, filter.app) = ([type], event.key, app)
        let position = [event.partition: max(event.offset - 1, 0)]
        return try await queries.page(filter, .newest, from: position, limit: count).events
    }
}
