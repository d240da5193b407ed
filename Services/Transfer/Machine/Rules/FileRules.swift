import Contracts
import Machines
import OrderedCollections

// The files of apps.
extension Decision<TransferMachine> {
    mutating func store(_ file: AppFile, as name: String, of app: String) throws(TransferRefusal) {
        guard state.apps[app] != nil else { throw .appNotInstalled(app) }
        let names = state.names(of: app)
        guard names.contains(name) || names.count < policy.filesPerApp else {
            throw .tooManyFiles(limit: policy.filesPerApp)
        }
        try requireRoom()
        var next = state
        next.apps[app]?.files[name] = file
        // A smaller file may replace another even if the quota has become smaller than the files.
        guard next.storedBytes <= max(policy.fileBytes, state.storedBytes) else { throw .fileQuotaExceeded }
        emit(.fileStored(.init(app: app, file: file, name: name)))
    }

    /// Whether the files of the device may get more bytes.
    func hasRoom(for bytes: Int) -> Bool {
        bytes <= 0 || policy.fileBytes == .max || state.modelsTransfers
            || bytes.heldToBytes <= policy.fileBytes - state.storedBytes
    }

    mutating func remove(_ name: String, of app: String) throws(TransferRefusal) {
        guard let view = state.apps[app] else { throw .appNotInstalled(app) }
        guard view.files[name] != nil else { throw .unknownFile(name) }
        emit(.fileRemoved(.init(app: app, name: name)))
    }
}

extension TransferMachine {
    /// Returns the names of an app's files, and the names that unfinished downloads have reserved.
    func names(of app: String) -> Set<String> {
        let reserved = apps[app]?.sessions.values.flatMap { $0.tasks.compactMap(\.claimedName) } ?? []
        return Set(apps[app]?.files.keys.elements ?? []).union(reserved)
    }
}

extension TransferTask {
    fileprivate var claimedName: String? { fate == .claimed || error != nil ? nil : claimedAs }
}
