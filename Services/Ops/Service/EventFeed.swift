import Contracts
import EventLog
import ServiceKit

/// The live feed as server-sent events, each with the whole vector of places as its id. An id alone tells how far the stream has
/// come where nothing that is wanted has come for a while.
///
/// A reader that lets too much pile up is told so by a last event `cut`, and comes back with its `Last-Event-ID`. So is one that
/// retention overtakes; it is answered 410 then.
struct EventFeed: AsyncSequence, Sendable {
    typealias Element = ServerSentEvent

    let tail: LogTail
    let filter: EventFilter
    let start: LogVector

    func makeAsyncIterator() -> Iterator {
        let filter = filter
        // One aggregate's history is found by its index.
        let stream =
            if let key = filter.key, let offset = start[key.partition(of: tail.partitions)] {
                tail.events(of: key, after: offset, isMarked: true)
            } else {
                tail.events(in: start, isMarked: true, where: filter.wants)
            }
        return Iterator(stream: stream.makeAsyncIterator(), filter: filter, place: start)
    }

    struct Iterator: AsyncIteratorProtocol {
        var stream: LogStream.Iterator
        let filter: EventFilter
        var place: LogVector
        /// The place that was told last.
        var told: LogVector?
        var isCut = false

        private var id: String { ResumePoint(place.mapValues(Int64.init)).description }

        mutating func next() async throws -> ServerSentEvent? {
            guard !isCut else { return nil }
            do {
                while let step = try await stream.step() {
                    switch step {
                    case .event(let event):
                        place[event.partition] = event.offset
                        guard filter.wants(event) else { continue }
                        told = place
                        return ServerSentEvent(id: id, data: String(decoding: event.cloudEvent, as: UTF8.self))
                    case .mark(let mark):
                        guard mark != told else { continue }
                        (place, told) = (mark, mark)
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
