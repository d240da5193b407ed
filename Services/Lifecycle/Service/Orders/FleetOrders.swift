import Contracts
import EventLog
import Records
import ServiceKit

/// The orders of all devices of a fleet, in log order within each partition. The id of each is the whole vector of offsets.
struct FleetOrders: AsyncSequence, Sendable {
    typealias Element = ServerSentEvent

    let events: LogStream
    let start: [Int: Int]
    let fleet: String
    let fleets: FleetsOfDevices

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: events.makeAsyncIterator(), positions: start, fleet: fleet, fleets: fleets)
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: LogStream.Iterator
        var positions: [Int: Int]
        let fleet: String
        let fleets: FleetsOfDevices

        mutating func next() async throws -> ServerSentEvent? {
            while let event = try await base.next() {
                positions[event.partition] = event.offset
                fleets.note(event)
                guard let order = Order(event), try await fleets.fleet(of: order.device) == fleet else { continue }
                let place = ResumePoint(positions.mapValues { Int64($0) })
                return ServerSentEvent(id: place.description, data: order.text)
            }
            return nil
        }
    }
}
