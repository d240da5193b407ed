import Contracts
import DequeModule
import Foundation
import OrderedCollections
import Records
import Reports
import Timeline

/// The trails of pushes in a snapshot.
struct StoredTrails: Record {
    /// The events that explain later ones, in their order of restoration.
    var notes: [StoredNote] = []
    var recent: [StoredEvent] = []
    var steps: OrderedDictionary<String, [StoredStep]> = [:]
}

/// A step of a push in a snapshot.
struct StoredStep: Record {
    var step = PushStep()
    /// The status, if it is a wait.
    var wait: String?
}

/// An event of `push` in a snapshot that explains later ones.
struct StoredNote: Record {
    var at = Instant.epoch
    var data = ""
    var type = ""
    var version = 1
}

extension StoredNote {
    init(_ note: PushExplanations.Note) {
        at = note.at
        data = String(decoding: note.data.jsonBytes, as: UTF8.self)
        type = Swift.type(of: note.data).type
        version = Swift.type(of: note.data).version
    }

    /// The event; nil if it has another form than this version knows.
    var event: PushEvent? { try? PushEvent(type: type, version: version, data: Array(data.utf8)) }
}

/// An event in a snapshot, without what only the log needs.
struct StoredEvent: Record {
    var app: String?
    var causation: String?
    var correlation = ""
    var data = ""
    var id = ""
    var key = ""
    var source = ""
    var time = Instant.epoch
    var traceparent: String?
    var type = ""
    var version = 1
}

extension StoredEvent {
    init(_ event: Event) {
        app = event.app
        causation = event.causation?.lowercased
        correlation = event.correlation.lowercased
        data = String(decoding: event.data, as: UTF8.self)
        id = event.id.lowercased
        key = event.key.description
        source = event.source
        time = event.time
        traceparent = event.traceparent
        type = event.type
        version = event.version
    }

    /// The event; nil if an id is not a UUID.
    var event: Event? {
        guard let id = UUID(uuidString: id), let correlation = UUID(uuidString: correlation) else { return nil }
        return Event(
            id: id, source: source, type: type, version: version, key: AggregateKey(key), app: app, time: time,
            correlation: correlation, causation: causation.flatMap { UUID(uuidString: $0) }, traceparent: traceparent,
            data: Array(data.utf8))
    }
}
