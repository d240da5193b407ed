public import Contracts
import OrderedCollections

extension TransferMachine {
    /// The files in storage that this device refers to. Two references to one file are two elements.
    public var storedPieces: [StoredPiece] {
        let ofTasks = sessions.flatMap { _, session in
            session.tasks.flatMap { task in
                let isOver = task.state == .completed
                let received = task.fate == .gone || isOver && task.error != nil ? [] : task.allPieces
                return received + (isOver ? [] : task.body?.pieces ?? [])
            }
        }
        let ofApps = apps.values.flatMap { app in
            app.files.values.flatMap(\.pieces) + app.resumable.values.flatMap(\.pieces)
        }
        return ofTasks + ofApps
    }

    /// The bytes of these files, each counted once. Files of modelled transfers have no bytes.
    public var storedBytes: Int {
        if modelsTransfers { return 0 }
        var lengths: [String: Int] = [:]
        for piece in storedPieces { lengths[piece.name] = max(lengths[piece.name] ?? 0, piece.length.heldToBytes) }
        return lengths.values.reduce(0) { ($0 + $1).heldToBytes }
    }
}

extension TransferTask {
    /// All pieces, with the file of the current attempt even before its first report.
    fileprivate var allPieces: [StoredPiece] {
        (segments + (attempt.map { [Segment(epoch: $0.epoch, length: 0)] } ?? [])).map { storedPiece($0) }
    }
}
