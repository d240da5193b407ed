import Contracts
import Machines
import OrderedCollections

// The files of apps.
extension Decision<TransferMachine> {
    mutating func store(_ file: AppFile, as name: String, of app: String) throws(TransferRefusal) {
        guard let view = state.apps[app] else { throw .appNotInstalled(app) }
        guard view.files[name] != nil || view.files.count < policy.filesPerApp else {
            throw .tooManyFiles(limit: policy.filesPerApp)
        }
        emit(.fileStored(.init(app: app, name: name, file: file)))
    }

    mutating func remove(_ name: String, of app: String) throws(TransferRefusal) {
        guard let view = state.apps[app] else { throw .appNotInstalled(app) }
        guard view.files[name] != nil else { throw .unknownFile(name) }
        emit(.fileRemoved(.init(app: app, name: name)))
    }
}
