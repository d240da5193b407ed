import Crypto
import Foundation
import HeapModule

/// Writes the logs of all partitions in the order of time, partition and offset. Hashes their hashes.
struct LogMerger {
    private let file: FileHandle?
    private var latest: [PartitionLog] = []

    private struct Line: Comparable {
        var time: Int64
        var log: Int
        var index: Int

        static func < (left: Line, right: Line) -> Bool {
            (left.time, left.log, left.index) < (right.time, right.log, right.index)
        }
    }

    /// - Parameter file: gets the merged lines; nil if there are none.
    init(to file: FileHandle?) { self.file = file }

    /// Appends the logs of a part of the simulated time. All lines are later than those of earlier parts.
    mutating func append(_ logs: [PartitionLog]) throws {
        guard !logs.isEmpty else { return }
        latest = logs
        guard file != nil else { return }
        var heads = Heap<Line>()
        var merged: [UInt8] = []
        for (log, lines) in logs.map(\.lines).enumerated() where !lines.isEmpty {
            heads.insert(Line(time: lines[0].time, log: log, index: 0))
        }
        while let head = heads.min {
            let log = logs[head.log]
            let begin = head.index == 0 ? 0 : log.lines[head.index - 1].end
            merged.append(contentsOf: log.bytes[begin..<log.lines[head.index].end])
            if merged.count > 1 << 20 { try flush(&merged) }
            let next = head.index + 1
            if next < log.lines.count {
                heads.replaceMin(with: Line(time: log.lines[next].time, log: head.log, index: next))
            } else {
                heads.removeMin()
            }
        }
        try flush(&merged)
    }

    /// The number of events.
    var events: Int { latest.reduce(0) { $0 + $1.count } }

    /// The SHA-256 of the hash chains of all partitions, in hexadecimal.
    var digest: String {
        var hash = SHA256()
        for log in latest { hash.update(data: log.chain) }
        let digits = Array("0123456789abcdef")
        return String(hash.finalize().flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }

    private mutating func flush(_ merged: inout [UInt8]) throws {
        try file?.write(contentsOf: merged)
        merged.removeAll(keepingCapacity: true)
    }
}
