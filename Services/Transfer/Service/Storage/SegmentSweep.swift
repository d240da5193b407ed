import Contracts
import Foundation
import Logging
import OrderedCollections
import ServiceLifecycle
import TransferMachine

/// Removes the bytes and the credentials that no device's state names any more: of attempts that began again, of downloads that
/// nobody claimed, of apps that are gone, of processes that were killed.
struct SegmentSweep: Service {
    /// What is younger may be about to be named.
    static let age = Duration.seconds(3600)
    static let pause = Duration.seconds(1800)
    static let page = 200

    let states: MoverTable
    let partitions: Int
    let credentials: CredentialTable
    let storage: Storage
    var age = Self.age
    let logger: Logger

    /// Runs until graceful shutdown or cancellation.
    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                do { try await sweep() } catch {
                    logger.warning("unused files could not be removed", metadata: ["error": "\(error)"])
                }
                try await Task.sleep(for: Self.pause)
            }
        }
    }

    /// What is old is listed before the states are read: a file is named before it has this age, so what is not named then
    /// never will be.
    func sweep() async throws {
        var unused = Set(try await storage.list(.segments, olderThan: age))
        var unneeded: [AggregateKey: Set<String>] = [:]
        for partition in 0..<partitions {
            for old in try await credentials.old(partition, seconds: Double(age.components.seconds)) {
                unneeded[old.device, default: []].insert(old.challenge)
            }
        }
        guard !unused.isEmpty || !unneeded.isEmpty else { return }
        try await states.forEachState(of: partitions, page: Self.page) { key, state in
            unused.subtract(state.storedPieces)
            for session in state.sessions.values {
                for held in session.credentials { unneeded[key]?.remove(held.id) }
                for task in session.tasks { task.challenge.map { _ = unneeded[key]?.remove($0.id) } }
            }
        }
        for name in unused { try await storage.remove(name, from: .segments) }
        for (key, challenges) in unneeded {
            for challenge in challenges { try await credentials.remove(key, challenge) }
        }
    }
}

extension TransferMachine {
    /// The names of everything in storage that this device has a use for.
    var storedPieces: [String] {
        let ofTasks = sessions.values.flatMap { session in
            session.tasks.flatMap { task in
                let received = task.fate == .gone || task.error != nil && task.state == .completed ? [] : task.allPieces
                return received + (task.state == .completed ? [] : task.body?.pieces ?? [])
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
