public import Contracts
import Foundation
import Records
public import Timeline

extension PushStep {
    /// Creates the step of a notification.
    ///
    /// - Parameters:
    ///   - cause: the event of another service that led to the step.
    ///   - reasons: the earlier events that explain it.
    public init(at time: Instant, _ status: NotificationStatus, cause: Event?, _ reasons: [PushStepReason]) {
        at = time
        self.cause = cause.map { Event.text(of: $0.type, $0.data) }
        self.reasons = reasons
        self.status = status.text
        until = status.until
    }
}

extension NotificationStatus {
    /// The status with its cause.
    fileprivate var text: String {
        var text = status.rawValue
        if let cause { text += " " + cause }
        return text
    }
}

extension PushStepReason {
    /// Creates the reason of a step from an event of the log.
    public init(_ reason: PushReasonKind, _ event: Event) {
        at = event.time
        self.event = Event.text(of: event.type, event.data)
        self.reason = reason
    }

    /// Creates the reason of a step from an event in memory.
    public init(_ reason: PushReasonKind, _ data: any EventData, at time: Instant) {
        at = time
        event = Event.text(of: type(of: data).type, data.jsonBytes)
        self.reason = reason
    }
}

extension Event {
    /// Returns the type with the words of the data, but without identifiers, times and the payload.
    fileprivate static func text(of type: String, _ data: [UInt8]) -> String {
        let values = words((try? JSON(parsing: data))?.members ?? [], isNested: false)
        return values.isEmpty ? type : "\(type) (\(values.joined(separator: ", ")))"
    }

    private static func words(_ members: [JSON.Member], isNested: Bool) -> [String] {
        members.flatMap { member -> [String] in
            switch member.value {
            case .string(let text):
                UUID(uuidString: text) == nil && Instant(text) == nil ? ["\(member.name) \(text)"] : []
            case .bool(let truth): ["\(member.name) \(truth)"]
            case .object(let inner): isNested || member.name == "payload" ? [] : words(inner, isNested: true)
            default: []
            }
        }
    }
}
