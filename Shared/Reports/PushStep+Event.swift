public import Contracts
import Foundation
import Records
public import Timeline

extension PushStep {
    /// Creates the step of a notification.
    ///
    /// - Parameter cause: the event of another service that led to the step.
    public init(at time: Instant, _ status: NotificationStatus, cause: Event?) {
        at = time
        self.cause = cause?.text
        self.status = status.text
    }
}

extension NotificationStatus {
    /// The status with its cause and its end.
    fileprivate var text: String {
        var text = status.rawValue
        if let cause { text += " " + cause }
        if let until { text += " until \(until.description.prefix(19).replacing("T", with: " "))" }
        return text
    }
}

extension Event {
    /// The type with the words of the data, but without identifiers and times.
    fileprivate var text: String {
        let members = (try? JSON(parsing: data))?.members ?? []
        let values = members.compactMap { member -> String? in
            switch member.value {
            case .string(let text):
                UUID(uuidString: text) == nil && Instant(text) == nil ? "\(member.name) \(text)" : nil
            case .bool(let truth): "\(member.name) \(truth)"
            default: nil
            }
        }
        return values.isEmpty ? type : "\(type) (\(values.joined(separator: ", ")))"
    }
}
