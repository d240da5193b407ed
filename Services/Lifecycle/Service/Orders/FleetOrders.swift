import Contracts
import EventLog
import HTTPKit
import Records

/// The orders of all devices of a fleet, in log order within each partition. Each id is the offsets of all partitions.
struct FleetOrders: AsyncSequence, Sendable {
    typealias Element = ServerSentEvent

    private let events: LogStream
    private let start: [Int: Int]
    private let members: FleetMembers

    /// - Parameter members: the members at the start positions.
    init(_ tail: LogTail, after start: [Int: Int], members: FleetMembers) {
        events = tail.events(in: start) { event in
            Order.isGiven(by: event) || FleetMembers.types.contains(event.type)
        }
        self.start = start
        self.members = members
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: events.makeAsyncIterator(), positions: start, members: members)
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate(set) var base: LogStream.Iterator
        fileprivate(set) var positions: [Int: Int]
        fileprivate(set) var members: FleetMembers

        mutating func next() async throws -> ServerSentEvent? {
            while let event = try await base.next() {
                positions[event.partition] = event.offset
                members.note(event)
                guard members.contains(event.key), let order = Order(event) else { continue }
                let position = EncodedPosition(positions.mapValues { Int64($0) })
                return ServerSentEvent(
                    id: position.description, data: order.text, delivers: DeliveredEvent(event))
            }
            return nil
        }
    }
}
