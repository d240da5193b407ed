import Contracts
import Crypto
import Records
import Timeline

/// The log of a partition in a part of the simulated time: the hash of its events, and their CloudEvents if wanted.
struct PartitionLog: Sendable {
    let partition: Int
    /// The number of the events of all parts.
    private(set) var count = 0
    /// The hash chain of all parts: the SHA-256 of the former value and the binary forms of the events of a part.
    private(set) var chain = [UInt8](repeating: 0, count: 32)
    /// The lines of CloudEvents JSON, each with its line feed.
    private(set) var bytes: [UInt8] = []
    /// The times of the lines in milliseconds, and their ends in ``bytes``.
    private(set) var lines: [(time: Int64, end: Int)] = []
    private let hasLines: Bool
    private var binary = BinaryWriter()

    /// - Parameter lines: whether the log has the events as text too.
    init(partition: Int, lines: Bool) {
        self.partition = partition
        hasLines = lines
    }

    /// Writes an event with its position.
    mutating func append(_ event: Event) {
        count += 1
        event.write(to: &binary)
        guard hasLines else { return }
        var event = event
        event.partition = partition
        event.offset = count
        bytes.append(contentsOf: event.cloudEvent)
        bytes.append(UInt8(ascii: "\n"))
        lines.append((event.time.milliseconds, bytes.count))
    }

    /// Continues the log of a snapshot.
    mutating func restore(chain: [UInt8], count: Int) throws(SnapshotError) {
        guard chain.count == self.chain.count else { throw .malformed }
        (self.chain, self.count) = (chain, count)
    }

    /// Ends a part: returns its lines and removes them here.
    mutating func taken() -> PartitionLog {
        var hash = SHA256()
        hash.update(data: chain)
        hash.update(data: binary.bytes)
        chain = Array(hash.finalize())
        binary.removeAll()
        let taken = self
        bytes = []
        lines = []
        bytes.reserveCapacity(taken.bytes.count)
        return taken
    }
}
