import Contracts
import HTTPKit
import ServiceKit
import Synchronization
import TransferCore

/// The quotas of the files of apps and tasks, for each device and for all devices of a fleet.
///
/// The state of a device has its files, so the machine enforces the quota of the device. No row has the bytes of a fleet.
/// So each process counts them when it scans all states, and until the next scan it adds the bytes that it stores. It does
/// not know what other replicas store and what is removed meanwhile.
final class FileQuotas: Sendable {
    private struct Usage {
        /// The bytes of each fleet.
        var fleets: [String: Int] = [:]
        /// The bytes that this process has stored since the current scan began.
        var sinceScan: [String: Int] = [:]
        /// The bytes that this process has received of unfinished bodies.
        var arriving: [AggregateKey: Int] = [:]
    }

    /// The largest number of bytes of the files of a device.
    let device: Int
    private let fleet: Int
    private let usage = Mutex(Usage())

    init(_ reader: SettingsReader) {
        device = reader.number(
            "DEVICE_FILE_QUOTA", 1 << 36, 1...(1 << 50), "bytes of the files of a device's apps and tasks")
        fleet = reader.number(
            "FLEET_FILE_QUOTA", 1 << 40, 1...(1 << 50), "bytes of the files of all devices of a fleet")
    }

    /// Begins to receive a body that replaces a file of an app, or adds one.
    func arrival(for key: AggregateKey, _ state: TransferMachine, replacing file: AppFile?) -> Arrival {
        let room = device - state.storedBytes + (file?.length ?? 0)
        return Arrival(quotas: self, key: key, fleet: state.fleet, room: room)
    }

    /// Notes bytes that a task receives.
    ///
    /// - Returns: whether the fleet has room for them.
    func take(_ bytes: Int, of fleet: String?) -> Bool { usage.withLock { take(bytes, of: fleet, in: &$0) } }

    /// Begins to count the bytes of all fleets.
    func beginScan() { usage.withLock { $0.sinceScan = [:] } }

    /// Replaces the bytes of all fleets by those that a scan has counted.
    func endScan(_ counted: [String: Int]) {
        usage.withLock { usage in
            // The scan may have counted some of them, too. The next scan corrects this.
            usage.fleets = counted.merging(usage.sinceScan, uniquingKeysWith: +)
        }
    }

    private func take(_ bytes: Int, of name: String?, in usage: inout Usage) -> Bool {
        guard let name else { return true }
        guard usage.fleets[name, default: 0] + bytes <= fleet else { return false }
        usage.fleets[name, default: 0] += bytes
        usage.sinceScan[name, default: 0] += bytes
        return true
    }

    fileprivate func take(_ bytes: Int, of arrival: Arrival) throws(Problem) {
        let problem: Problem? = usage.withLock { usage in
            guard usage.arriving[arrival.key, default: 0] + bytes <= arrival.room else {
                return TransferRefusal.fileQuotaExceeded.problem
            }
            guard take(bytes, of: arrival.fleet, in: &usage) else { return .fleetFileQuota }
            usage.arriving[arrival.key, default: 0] += bytes
            return nil
        }
        if let problem { throw problem }
    }

    fileprivate func end(_ arrival: Arrival, isKept: Bool) {
        usage.withLock { usage in
            let rest = usage.arriving[arrival.key, default: 0] - arrival.taken
            usage.arriving[arrival.key] = rest > 0 ? rest : nil
            guard !isKept, let fleet = arrival.fleet else { return }
            usage.fleets[fleet, default: 0] -= arrival.taken
            usage.sinceScan[fleet, default: 0] -= arrival.taken
        }
    }
}

/// A body that arrives for a device.
struct Arrival {
    fileprivate let quotas: FileQuotas
    fileprivate let key: AggregateKey
    fileprivate let fleet: String?
    /// The bytes that the device may get.
    fileprivate let room: Int
    fileprivate var taken = 0

    fileprivate init(quotas: FileQuotas, key: AggregateKey, fleet: String?, room: Int) {
        self.quotas = quotas
        self.key = key
        self.fleet = fleet
        self.room = room
    }

    /// Takes received bytes.
    ///
    /// - Throws: `file_quota_exceeded`, `fleet_file_quota_exceeded`.
    mutating func take(_ bytes: Int) throws(Problem) {
        try quotas.take(bytes, of: self)
        taken += bytes
    }

    /// Ends the arrival.
    ///
    /// - Parameter isKept: whether a state refers to the bytes now.
    func end(isKept: Bool) { quotas.end(self, isKept: isKept) }
}

extension Problem {
    static let fleetFileQuota = Problem(
        .insufficientStorage, "fleet_file_quota_exceeded", "File quota of the fleet is used up",
        detail: "The files of the fleet's devices would exceed FLEET_FILE_QUOTA: remove files. Their bytes are "
            + "free after the next scan (SCAN_INTERVAL).")
}
