import NIOHTTP1
import Records
import Synchronization
import TestSupport
import Testing

/// Reads the log page by page from its beginning. Each page begins after the `Dormouse-Position` of the last one, also
/// if the service did not answer between them.
final class EventPoller: Sendable {
    private let suite: RunningSuite
    private let offsets = Mutex<[Int: [Int]]>([:])
    private let isStopped = Mutex(false)
    private let events = Tally()

    init(_ suite: RunningSuite) { self.suite = suite }

    /// Runs until ``stop()``.
    func run() async throws {
        var after = ""
        while !isStopped.withLock({ $0 }) {
            // A fault explains only "not now" responses.
            guard let answer = try? await suite.send(.GET, .ops, "/v1/events?order=oldest&limit=200\(after)"),
                ![429, 503].contains(answer.status)
            else {
                try await Task.sleep(for: .milliseconds(50))
                continue
            }
            guard answer.status == 200 else { throw Unexpected("a page: \(answer.status) \(answer.json)") }
            let items = answer.json["items"]?.items ?? []
            for item in items {
                guard let partition = item["partition"]?.int, let offset = item["offset"]?.string.flatMap({ Int($0) })
                else { throw Unexpected("an event without a position: \(item)") }
                offsets.withLock { $0[partition, default: []].append(offset) }
                events.add()
            }
            if let position = answer.position { after = "&after=\(position)" }
            // The head of the log: other requests need the processor too.
            if items.count < 200 { try await Task.sleep(for: .milliseconds(50)) }
        }
    }

    func stop() { isStopped.withLock { $0 = true } }

    /// Waits for `more` further events.
    func reads(_ more: Int) async throws {
        let count = events.count + more
        try await withTimeout(seconds: 120, "the poller reads \(more) more events") { [self] in
            try await events.reaches(count)
        }
    }

    /// It has read each event once and in order.
    func check() {
        let read = offsets.withLock { $0 }
        #expect(!read.isEmpty)
        for (partition, offsets) in read { #expect(offsets == Array(1...offsets.count), "partition \(partition)") }
    }
}
