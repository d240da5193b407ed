import Foundation
import NIOCore
import NIOHTTP1
import Records
import Synchronization
import TestSupport

/// Follows the live feed of `ops` across lost connections and restarts, from its `Last-Event-ID`. It must receive every
/// event exactly once.
final class FeedReader: Sendable {
    private struct State {
        /// The last received offset of each partition.
        var offsets: [Int: Int] = [:]
        var lastID = ""
        var count = 0
        var connections = 0
        var faults: [String] = []
    }

    private let suite: AttackedSuite
    private let client: AttackClient
    private let state = Mutex(State())

    init(_ suite: AttackedSuite, _ client: AttackClient) { (self.suite, self.client) = (suite, client) }

    /// The number of received events.
    var count: Int { state.withLock(\.count) }
    /// The number of times that it opened the stream.
    var connections: Int { state.withLock(\.connections) }
    var faults: [String] { state.withLock(\.faults) }

    /// Reads from the beginning of the log until it is stopped.
    func run(partitions: Int, while goesOn: @Sendable () -> Bool) async {
        state.withLock { state in
            if state.lastID.isEmpty { state.lastID = (0..<partitions).map { "\($0):0" }.joined(separator: ",") }
        }
        let address = suite.replicas(of: .ops)[0].address
        while goesOn(), !Task.isCancelled {
            var call = Call(.GET, "/v1/events/stream")
            call.headers.append(("Last-Event-ID", state.withLock { $0.lastID }))
            var text = ByteBuffer()
            // A lost connection, a stopped service and a deadline all lead to a new connection.
            try? await client.stream(call, from: address, within: 20) { part in
                text.writeImmutableBuffer(part)
                while let block = Self.block(&text) { take(block) }
                return goesOn()
            }
            state.withLock { $0.connections += 1 }
            try? await Task.sleep(for: .milliseconds(200))
        }
    }

    /// Reads until it has every event up to the heads.
    func finish(_ heads: [Int: Int]) async {
        let deadline = ContinuousClock.now + .seconds(60)
        await run(partitions: heads.count) { [self] in
            ContinuousClock.now < deadline && !isComplete(heads)
        }
        let offsets = state.withLock(\.offsets)
        for (partition, head) in heads.sorted(by: { $0.key < $1.key }) where offsets[partition] ?? 0 < head {
            let fault = "partition \(partition) was received up to \(offsets[partition] ?? 0), its head is \(head)"
            state.withLock { $0.faults.append(fault) }
        }
    }

    private func isComplete(_ heads: [Int: Int]) -> Bool {
        state.withLock { state in heads.allSatisfy { state.offsets[$0.key] ?? 0 >= $0.value } }
    }

    /// Returns the text up to the next empty line.
    private static func block(_ text: inout ByteBuffer) -> String? {
        let view = text.readableBytesView
        guard let end = view.firstRange(of: [0x0A, 0x0A]) else { return nil }
        let block = text.readString(length: end.lowerBound - view.startIndex)
        text.moveReaderIndex(forwardBy: 2)
        text.discardReadBytes()
        return block
    }

    private func take(_ block: String) {
        let lines = block.split(separator: "\n")
        let id = lines.first { $0.hasPrefix("id: ") }?.dropFirst(4)
        let isCut = lines.contains("event: cut")
        let text = lines.first { $0.hasPrefix("data: ") }.map { Array($0.utf8.dropFirst(6)) }
        state.withLock { state in
            if let id { state.lastID = String(id) }
            guard !isCut, let text else { return }
            let data = try? JSON(parsing: text, depth: 1000)
            guard let data, let partition = data["partition"]?.int,
                let offset = data["offset"]?.string.flatMap({ Int($0) })
            else {
                state.faults.append("an event that can't be read: \(block.prefix(600))")
                return
            }
            let expected = (state.offsets[partition] ?? 0) + 1
            if offset != expected, state.faults.count < 20 {
                state.faults.append("partition \(partition) has offset \(offset) instead of \(expected)")
            }
            state.offsets[partition] = offset
            state.count += 1
        }
    }
}
