import Contracts
import OrderedCollections
import Records
import TransferCore

/// The files and credentials that the states of devices refer to.
struct FileReferences: Sendable {
    private static let page = 200

    let store: TransferStore

    /// Whether the database has no devices.
    var isEmpty: Bool { get async throws { try await store.isEmpty } }

    /// Returns the files in `segments` that a device refers to.
    func pieces(of names: [String]) async throws -> Set<String> {
        let names = Set(names)
        var used: Set<String> = []
        try await store.forEachState(page: Self.page) { _, state in
            for piece in state.storedPieces where names.contains(piece.name) { used.insert(piece.name) }
        }
        return used
    }

    /// Returns the ids of the credentials and secret header fields that sessions and tasks refer to, by device; nil for a
    /// device whose state is unreadable.
    func secrets() async throws -> [AggregateKey: Set<String>?] {
        var used: [AggregateKey: Set<String>?] = [:]
        try await store.forEachPage(of: Self.page) { rows in
            for (key, binary, version) in rows {
                let state = version == TransferMachine.version ? TransferMachine(binary: binary) : nil
                used.updateValue(state?.secrets, forKey: key)
            }
        }
        return used
    }
}

extension TransferMachine {
    /// The ids of the credentials and secret header fields that sessions and tasks refer to.
    fileprivate var secrets: Set<String> {
        Set(
            sessions.flatMap { _, session in
                session.credentials.map(\.id) + session.tasks.compactMap(\.challenge?.id)
                    + session.tasks.compactMap(\.request.secretHeaders)
            })
    }
}
