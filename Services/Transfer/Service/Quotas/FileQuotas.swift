import Contracts
import HTTPKit
import ServiceKit
import Synchronization
import TransferCore

/// The quotas of the files of apps and tasks, for each device and for all devices of a fleet.
///
/// The state of a device has its files, so the machine enforces the quota of the device. A scan of all states counts the
/// bytes of the fleets.
final class FileQuotas: Sendable {
    /// The largest number of bytes of the files of a device.
    let device: Int
    /// The bytes of the fleets.
    let fleets: FleetBytes
    /// The bytes that this process has received of unfinished bodies.
    private let arriving = Mutex<[AggregateKey: Int]>([:])

    init(_ reader: SettingsReader) {
        device = reader.number(
            "DEVICE_FILE_QUOTA", 1 << 36, 1...(1 << 50), "bytes of the files of a device's apps and tasks")
        fleets = FleetBytes(
            limit: reader.number(
                "FLEET_FILE_QUOTA", 1 << 40, 1...(1 << 50), "bytes of the files of all devices of a fleet"))
    }

    /// Begins to receive a body that replaces a file of an app, or adds one.
    func arrival(for key: AggregateKey, _ state: TransferMachine, replacing file: AppFile?) -> Arrival {
        let room = device - state.storedBytes + (file?.length ?? 0)
        return Arrival(quotas: self, key: key, fleet: state.fleet, room: room)
    }

    fileprivate func take(_ bytes: Int, of arrival: Arrival) throws(Problem) {
        let problem: Problem? = arriving.withLock { arriving in
            guard arriving[arrival.key, default: 0] + bytes <= arrival.room else {
                return TransferRefusal.fileQuotaExceeded.problem
            }
            guard fleets.take(bytes, of: arrival.fleet) else { return .fleetFileQuota }
            arriving[arrival.key, default: 0] += bytes
            return nil
        }
        if let problem { throw problem }
    }

    fileprivate func end(_ arrival: Arrival, isKept: Bool) {
        arriving.withLock { arriving in
            let rest = arriving[arrival.key, default: 0] - arrival.taken
            arriving[arrival.key] = rest > 0 ? rest : nil
        }
        if !isKept { fleets.add(-arrival.taken, to: arrival.fleet) }
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
