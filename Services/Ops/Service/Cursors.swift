import EventLog
import Foundation
import HTTPKit
import Identity
import Timeline

/// The opaque cursor of a position in the feed: the first letter of the order, then the position of each partition.
struct PositionCursor {
    let position: PositionVector
    let order: EventOrder

    init(position: PositionVector, order: EventOrder) {
        self.position = position
        self.order = order
    }

    /// Returns nil if the text is not a cursor of a feed in this order.
    init?(_ text: String, _ order: EventOrder) {
        guard let plain = opened(text), plain.first == order.rawValue.first,
            let point = EncodedPosition(String(plain.dropFirst()))
        else { return nil }
        self.init(position: point.position, order: order)
    }

    var text: String {
        opaque(String(order.rawValue.prefix(1)) + EncodedPosition(position.mapValues(Int64.init)).description)
    }
}

extension EncodedPosition {
    var position: PositionVector { offsets.mapValues(Int.init) }
}

extension LogIncarnation {
    /// Returns a position of a client; nil for a text that is no position.
    ///
    /// - Throws: `earlier_incarnation`.
    func position(_ text: String) throws(Problem) -> PositionVector? {
        guard EncodedPosition(Self.plain(text)) != nil else { return nil }
        return EncodedPosition(try unmarked(text))?.position
    }
}

/// The opaque cursor of a position in the list of dead letters.
struct DeadLetterCursor {
    let position: DeadLetterPosition

    init(_ position: DeadLetterPosition) { self.position = position }

    /// Returns nil if the text is not such a cursor.
    init?(_ text: String) {
        guard let plain = opened(text) else { return nil }
        let parts = plain.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, let partition = Int32(parts[1]), let offset = Int(parts[2]), !plain.utf8.contains(0)
        else { return nil }
        position = DeadLetterPosition(
            consumer: String(parts[0]), partition: Int(partition), key: String(parts[3]), offset: offset)
    }

    var text: String { opaque("\(position.consumer)/\(position.partition)/\(position.offset)/\(position.key)") }
}

/// The place of a notification in the list of pushes: newest first, then by position in the log.
struct PushPosition: Equatable {
    /// When it was sent, in milliseconds since 1970.
    let sentAt: Int
    let partition: Int
    let offset: Int
}

/// The opaque cursor of a position in the list of pushes.
struct PushCursor {
    let position: PushPosition

    init(_ position: PushPosition) { self.position = position }

    /// Returns nil if the text is not such a cursor.
    init?(_ text: String) {
        guard let parts = opened(text)?.split(separator: "/", omittingEmptySubsequences: false), parts.count == 3,
            let sentAt = Int(parts[0]), let partition = Int32(parts[1]), let offset = Int(parts[2])
        else { return nil }
        position = PushPosition(sentAt: sentAt, partition: Int(partition), offset: offset)
    }

    var text: String { opaque("\(position.sentAt)/\(position.partition)/\(position.offset)") }
}

/// The place of a row in the audit trail: newest first, then by id.
struct AuditPosition: Equatable {
    let at: Instant
    let id: UUID
}

/// The opaque cursor of a position in the audit trail.
struct AuditCursor {
    let position: AuditPosition

    init(_ position: AuditPosition) { self.position = position }

    /// Returns nil if the text is not such a cursor.
    init?(_ text: String) {
        guard let parts = opened(text)?.split(separator: "/", omittingEmptySubsequences: false), parts.count == 2,
            let milliseconds = Int64(parts[0]), let id = UUID(uuidString: String(parts[1]))
        else { return nil }
        position = AuditPosition(at: Instant(milliseconds: milliseconds), id: id)
    }

    var text: String { opaque("\(position.at.milliseconds)/\(position.id.uuidString)") }
}

/// URL-safe Base64 without padding.
private func opaque(_ plain: String) -> String { Data(plain.utf8).base64EncodedString().base64URL }

private func opened(_ text: String) -> String? {
    [UInt8](base64URL: text).flatMap { String(validating: $0, as: UTF8.self) }
}
