import HTTPKit
import HTTPTypes
import Records

/// The progress of the removal of a fleet.
struct FleetRemoval: Record {
    /// A device that was not removed.
    struct Fault: Record {
        var code = ""
        var detail: String?
        var device = ""
    }

    /// The most listed faults.
    private static let most = 10

    /// Some of the devices that were not removed, with the reason.
    var faults: [Fault] = []
    var fleet = ""
    /// The devices that are still registered.
    var left = 0
    /// The devices that this request removed.
    var removed = 0

    /// Notes the result of a device.
    mutating func note(_ answer: LineAnswer) {
        // A device that another request removed, or that moved to another fleet, is not left.
        guard answer.status.code >= 400, answer.status != .notFound else {
            removed += answer.status.code < 400 ? 1 : 0
            return
        }
        left += 1
        guard faults.count < Self.most else { return }
        func text(_ name: String) -> String? { answer.members.first { $0.name == name }?.value.string }
        faults.append(
            Fault(code: text("code") ?? "", detail: text("detail"), device: text("device") ?? ""))
    }
}
