import Contracts
import Timeline

/// Merges lists by the times of their events. The order within each list stays.
func merged(_ lists: [[Event]]) -> [Event] {
    guard lists.count > 1 else { return lists.first ?? [] }
    var rest = lists.filter { !$0.isEmpty }.map { $0[...] }
    var all: [Event] = []
    while let next = rest.indices.min(by: { (rest[$0].first?.time ?? .epoch) < (rest[$1].first?.time ?? .epoch) }) {
        if let event = rest[next].popFirst() { all.append(event) }
        if rest[next].isEmpty { rest.remove(at: next) }
    }
    return all
}
