import Contracts
import EventLog
import HTTPKit
import PushCore
import Records

/// The notifications of all devices of a fleet, in log order within each partition. Each id is the offsets of all
/// partitions.
struct FleetNotifications: AsyncSequence, Sendable {
    typealias Element = ServerSentEvent

    private let events: LogStream
    private let start: [Int: Int]
    private let devices: FleetConnections

    init(_ tail: LogTail, after start: [Int: Int], _ devices: FleetConnections) {
        events = tail.events(
            in: start, of: FleetConnections.types.union([PushEvent.NotificationDelivered.type]))
        self.start = start
        self.devices = devices
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: events.makeAsyncIterator(), positions: start, devices: devices)
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: LogStream.Iterator
        fileprivate var positions: [Int: Int]
        fileprivate let devices: FleetConnections

        mutating func next() async throws -> ServerSentEvent? {
            while let event = try await base.next() {
                positions[event.partition] = event.offset
                guard devices.takes(event), var document = NotificationDocument(event) else { continue }
                document.device = event.key.device
                let position = EncodedPosition(positions.mapValues { Int64($0) })
                return ServerSentEvent(
                    id: position.description, event: "notification",
                    data: String(decoding: document.jsonBytes, as: UTF8.self), delivers: DeliveredEvent(event),
                    occurredAt: event.time)
            }
            return nil
        }
    }
}
