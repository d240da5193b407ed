import Contracts
import EventLog
import ServiceKit

/// The live feed as server-sent events, each with the whole vector of places as its id.
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
                tail.events(of: key, after: offset)
            } else {
                tail.events(in: start, where: filter.wants)
            }
        return Iterator(stream: stream.makeAsyncIterator(), filter: filter, place: start)
    }

    struct Iterator: AsyncIteratorProtocol {
        var stream: LogStream.Iterator
        let filter: EventFilter
        var place: LogVector
        var isCut = false

        mutating func next() async throws -> ServerSentEvent? {
            guard !isCut else { return nil }
            do {
                while let event = try await stream.next() {
                    place[event.partition] = event.offset
                    guard filter.wants(event) else { continue }
                    let id = ResumePoint(place.mapValues(Int64.init)).description
                    return ServerSentEvent(id: id, data: String(decoding: event.cloudEvent, as: UTF8.self))
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
