import Contracts
import Reports
import Timeline

/// The histories of the latest pushes, and of a few pushes for each reason to be late or not to arrive.
///
/// Its content does not depend on the order of the additions.
struct WorstPushes: Sendable {
    /// The number of the latest pushes of all reasons.
    private static let mostLate = 10
    /// The number of pushes for each reason.
    private static let mostOfReason = 3

    /// The latest pushes of each reason, the latest first. The latest pushes of all reasons are among them.
    private var late: [String: [PushHistory]] = [:]
    private var never: [String: [PushHistory]] = [:]

    mutating func add(_ push: PushHistory) { add(push) { push.steps } }

    /// - Parameter steps: the events of the push. They are asked for only if the push is kept.
    mutating func add(_ push: PushHistory, steps: () -> [PushStep]) {
        if push.arrivedAt == nil {
            Self.insert(push, steps, in: &never[push.why, default: []], limit: Self.mostOfReason, Self.isEarlier)
        } else {
            Self.insert(push, steps, in: &late[push.why, default: []], limit: Self.mostLate, Self.isLater)
        }
    }

    mutating func add(_ other: WorstPushes) {
        for push in other.late.values.joined() { add(push) }
        for push in other.never.values.joined() { add(push) }
    }

    /// The latest first, then those that did not arrive, by reason and time.
    var all: [PushHistory] {
        let sorted = late.values.joined().sorted(by: Self.isLater)
        var counts: [String: Int] = [:]
        let kept = sorted.enumerated().filter { place, push in
            counts[push.why, default: 0] += 1
            return place < Self.mostLate || counts[push.why, default: 0] <= Self.mostOfReason
        }.map(\.element)
        return kept + never.sorted { $0.key < $1.key }.flatMap(\.value)
    }

    private static func insert(
        _ push: PushHistory, _ steps: () -> [PushStep], in list: inout [PushHistory], limit: Int,
        _ precedes: (PushHistory, PushHistory) -> Bool
    ) {
        guard list.count < limit || list.last.map({ precedes(push, $0) }) ?? true else { return }
        var push = push
        push.steps = steps()
        list.insert(push, at: list.firstIndex { precedes(push, $0) } ?? list.endIndex)
        if list.count > limit { list.removeLast() }
    }

    private static func isEarlier(_ one: PushHistory, _ other: PushHistory) -> Bool {
        (one.sentAt, one.device, one.notification) < (other.sentAt, other.device, other.notification)
    }

    private static func isLater(_ one: PushHistory, _ other: PushHistory) -> Bool {
        func delay(_ push: PushHistory) -> Interval { (push.arrivedAt ?? push.sentAt) - push.sentAt }
        return delay(one) == delay(other) ? isEarlier(one, other) : delay(one) > delay(other)
    }
}
