import Contracts
import Machines
import Records
import Timeline

/// A partition in a snapshot.
struct StoredPartition: Record {
    var devices: [StoredDevice] = []
    var figures = StoredFigures()
    /// The hash chain of the log, in bytes.
    var logChain: [Int] = []
    /// The number of events in the log.
    var logCount = 0
    var slots: [StoredSlots] = []
    var violations: [StoredViolation] = []
}

/// A page of reserved slots in a snapshot.
struct StoredSlots: Record {
    var bytes: [Int] = []
    var page = 0
}

/// A violated rule in a snapshot.
struct StoredViolation: Record {
    var at = Instant.epoch
    var device = ""
    var rule = CheckedRule.placeholder
}

extension PartitionContext {
    /// Copies the state of the partition, without its devices.
    func store(in stored: inout StoredPartition) {
        stored.figures = StoredFigures(figures)
        stored.logChain = log.chain.map(Int.init)
        stored.logCount = log.count
        stored.slots = fetchSlots.changed.sorted().compactMap { page in
            let bytes = fetchSlots.page(page).map(Int.init)
            return bytes.isEmpty ? nil : StoredSlots(bytes: bytes, page: Int(page))
        }
        stored.violations = violations.map { StoredViolation(at: $0.at, device: $0.device, rule: $0.rule) }
    }

    /// Continues from a snapshot.
    mutating func restore(_ stored: StoredPartition) throws(SnapshotError) {
        try stored.figures.restore(&figures)
        try log.restore(chain: stored.logChain.bytes, count: stored.logCount)
        for slots in stored.slots {
            guard fetchSlots.restore(Int64(slots.page), slots.bytes.bytes) else { throw .malformed }
        }
        violations = stored.violations.map { Violation(device: $0.device, at: $0.at, rule: $0.rule) }
    }
}

extension [Int] {
    fileprivate var bytes: [UInt8] { map { UInt8(truncatingIfNeeded: $0) } }
}
