import Contracts
import EventLog
import HTTPKit

/// The live feed as server-sent events. The id of each event holds the positions of all partitions.
///
/// An id without an event reports progress while no event matches the filter. A slow reader gets a last event `cut`,
/// and resumes with its `Last-Event-ID`. A reader that retention overtakes gets `cut` too, and 410 when it resumes. So
/// does a reader whose events the log has lost.
///
/// The events that wait come together, so that the connection sends them with one write.
struct EventFeed: AsyncSequence, Sendable {
    typealias Element = [ServerSentEvent]

    /// The most events of an element.
    private static let most = 100

    let tail: LogTail
    let filter: EventFilter
    /// The devices of the fleet of the filter; nil without one.
    var devices: FleetDevices?
    let start: PositionVector

    func makeAsyncIterator() -> Iterator {
        let filter = filter
        let changes = devices == nil ? [] : FleetDevices.types
        // The history of one aggregate has an index.
        let stream =
            if let key = filter.key, let offset = start[key.partition(of: tail.partitions)] {
                tail.events(of: key, after: offset, isMarked: true)
            } else {
                tail.events(in: start, isMarked: true) { filter.wants($0) || changes.contains($0.type) }
            }
        return Iterator(
            most: Self.most, stream: stream.makeAsyncIterator(), filter: filter, devices: devices, position: start)
    }

    struct Iterator: AsyncIteratorProtocol {
        let most: Int
        var stream: LogStream.Iterator
        let filter: EventFilter
        var devices: FleetDevices?
        var position: PositionVector
        /// The position that was sent last.
        var sent: PositionVector?
        var isCut = false

        private var id: String { EncodedPosition(position.mapValues(Int64.init)).description }

        mutating func next() async throws -> [ServerSentEvent]? {
            guard !isCut else { return nil }
            var found: [ServerSentEvent] = []
            do {
                while found.isEmpty || stream.hasNext && found.count < most {
                    guard let step = try await stream.step() else { break }
                    if let event = event(of: step) { found.append(event) }
                }
            } catch let error as TailError {
                isCut = true
                let code =
                    switch error {
                    case .slowReader: "slow_reader"
                    case .beyondRetention: Problem.beyondRetention.code
                    case .eventsLost: "events_lost"
                    }
                found.append(ServerSentEvent(event: "cut", data: #"{"code":"\#(code)","detail":"\#(error)"}"#))
            }
            return found.isEmpty ? nil : found
        }

        /// Returns what the client gets for a step; nil for nothing.
        private mutating func event(of step: LogStep) -> ServerSentEvent? {
            switch step {
            case .event(let event):
                position[event.partition] = event.offset
                devices?.note(event)
                guard filter.wants(event), devices?.contains(event.key) ?? true else { return nil }
                sent = position
                return ServerSentEvent(id: id, data: String(decoding: event.cloudEvent, as: UTF8.self))
            case .mark(let mark):
                guard mark != sent else { return nil }
                (position, sent) = (mark, mark)
                return ServerSentEvent(id: id)
            }
        }
    }
}
