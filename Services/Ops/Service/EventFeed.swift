import Contracts
import EventLog
import HTTPKit

/// The live feed as server-sent events. The id of each event holds the positions of all partitions.
///
/// An id without an event reports progress while no event matches the filter. A slow reader gets a last event `cut`,
/// and resumes with its `Last-Event-ID`. A reader that retention overtakes gets `cut` too, and 410 when it resumes.
struct EventFeed: AsyncSequence, Sendable {
    typealias Element = ServerSentEvent

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
        return Iterator(stream: stream.makeAsyncIterator(), filter: filter, devices: devices, position: start)
    }

    struct Iterator: AsyncIteratorProtocol {
        var stream: LogStream.Iterator
        let filter: EventFilter
        var devices: FleetDevices?
        var position: PositionVector
        /// The position that was sent last.
        var sent: PositionVector?
        var isCut = false

        private var id: String { EncodedPosition(position.mapValues(Int64.init)).description }

        mutating func next() async throws -> ServerSentEvent? {
            guard !isCut else { return nil }
            do {
                while let step = try await stream.step() {
                    switch step {
                    case .event(let event):
                        position[event.partition] = event.offset
                        devices?.note(event)
                        guard filter.wants(event), devices?.contains(event.key) ?? true else { continue }
                        sent = position
                        return ServerSentEvent(id: id, data: String(decoding: event.cloudEvent, as: UTF8.self))
                    case .mark(let mark):
                        guard mark != sent else { continue }
                        (position, sent) = (mark, mark)
                        return ServerSentEvent(id: id)
                    }
                }
                return nil
            } catch let error as TailError {
                isCut = true
                let code = error == .slowReader ? "slow_reader" : Problem.beyondRetention.code
                return ServerSentEvent(event: "cut", data: #"{"code":"\#(code)","detail":"\#(error)"}"#)
            }
        }
    }
}
