import Contracts
import Timeline

/// The log of a partition in a part of the simulated time: CloudEvents as JSON lines.
struct PartitionLog: Sendable {
    let partition: Int
    /// The lines, each with its line feed.
    private(set) var bytes: [UInt8] = []
    /// The times of the lines in milliseconds, and their ends in ``bytes``.
    private(set) var lines: [(time: Int64, end: Int)] = []
    private var offset = 0

    init(partition: Int) { self.partition = partition }

    /// Writes an event with its position.
    mutating func append(_ event: Event) {
        offset += 1
        var event = event
        event.partition = partition
        event.offset = offset
        bytes.append(contentsOf: event.cloudEvent)
        bytes.append(UInt8(ascii: "\n"))
        lines.append((event.time.milliseconds, bytes.count))
    }

    /// Returns the lines and removes them here.
    mutating func taken() -> PartitionLog {
        let taken = self
        bytes = []
        lines = []
        bytes.reserveCapacity(taken.bytes.count)
        return taken
    }
}
