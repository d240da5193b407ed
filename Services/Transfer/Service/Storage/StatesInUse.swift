import Contracts
import OrderedCollections
import TransferMachine

/// What the devices' states name of what is kept beside them.
struct StatesInUse: Sendable {
    private static let page = 200

    let states: MoverTable
    let partitions: Int

    /// Whether the database has no device at all.
    var isEmpty: Bool { get async throws { try await states.isEmpty } }

    /// Which of these files of `segments` a device has a use for.
    func pieces(of names: [String]) async throws -> Set<String> {
        let names = Set(names)
        var used: Set<String> = []
        try await states.forEachState(of: partitions, page: Self.page) { _, state in
            for name in state.storedPieces where names.contains(name) { used.insert(name) }
        }
        return used
    }

    /// The challenges that may still need what they were answered with, by device.
    func challenges() async throws -> [AggregateKey: Set<String>] {
        var used: [AggregateKey: Set<String>] = [:]
        try await states.forEachState(of: partitions, page: Self.page) { key, state in
            for session in state.sessions.values {
                let challenges = session.credentials.map(\.id) + session.tasks.compactMap(\.challenge?.id)
                if !challenges.isEmpty { used[key, default: []].formUnion(challenges) }
            }
        }
        return used
    }
}

extension TransferMachine {
    /// The names of everything in storage that this device has a use for.
    fileprivate var storedPieces: [String] {
        let ofTasks = sessions.values.flatMap { session in
            session.tasks.flatMap { task in
                let isOver = task.state == .completed
                let received = task.fate == .gone || isOver && task.error != nil ? [] : task.allPieces
                return received + (isOver ? [] : task.body?.pieces ?? [])
            }
        }
        let ofApps = apps.values.flatMap { app in
            app.files.values.flatMap(\.pieces) + app.resumable.values.flatMap(\.pieces)
        }
        return (ofTasks + ofApps).map(\.name)
    }
}

extension TransferTask {
    /// With the piece that an attempt may be writing, of which nothing was reported yet.
    fileprivate var allPieces: [StoredPiece] {
        (segments + (attempt.map { [Segment(epoch: $0.epoch, length: 0)] } ?? [])).map { storedPiece($0) }
    }
}
