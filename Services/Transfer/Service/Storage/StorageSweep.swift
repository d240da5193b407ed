import Logging
import ServiceKit
import ServiceLifecycle
import Telemetry

/// Moves unreferenced files to the trash, and empties it. Killed processes and failed removals leave them behind.
///
/// It moves only old files, because a transaction may be about to refer to a young one. It removes nothing at once,
/// because rows are missing after a restore or with the wrong database. A later sweep restores a file when a row refers
/// to it again. A sweep that would move too much is refused until an operator confirms it, or until `TRASH_DAYS` have
/// passed.
struct StorageSweep: Service {
    /// The file in the trash whose time is the time of the first refusal. All other files have generated names.
    static let note = "sweep-refused"
    /// The number of unreferenced files up to which a sweep is never refused.
    static let few = 20
    /// The number of names in one query.
    private static let page = 10_000

    /// A sign that the database may not belong to these files.
    enum Suspicion: Sendable {
        /// For folders with few unreferenced files: their share of all files exceeds the limit.
        case manyLeftovers
        /// For folders with many unreferenced files: the database has no devices.
        case emptyDatabase(@Sendable () async throws -> Bool)
    }

    let storage: any Storage
    let folder: StorageFolder
    var rules = SweepRules()
    var suspicion = Suspicion.manyLeftovers
    /// Refuses sweeps while the files may not belong to the log.
    var claim: StorageClaim?
    var age = Duration.seconds(3600)
    var pause = Duration.seconds(3600)
    var metrics = Metrics()
    let logger: Logger
    /// Returns the names that rows or states refer to.
    let inUse: @Sendable ([String]) async throws -> Set<String>

    /// Runs until graceful shutdown or cancellation.
    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                var pause = pause
                do { try await sweep() } catch {
                    pause = min(pause, .seconds(10))
                    logger.warning(
                        "failed to sweep unreferenced files, will retry", error: error, metadata: metadata([:]))
                }
                try await Task.sleep(for: pause)
            }
        }
    }

    /// Checks every file once.
    func sweep() async throws {
        // First, because the trash makes room only after it.
        let isForeign = try await claim?.check() == false
        let trashed = try await storage.names(in: folder.trash, unchangedFor: .zero)
        try await putBack(trashed.filter { $0 != Self.note })
        let old = try await storage.names(in: folder, unchangedFor: age)
        let leftovers = try await unnamed(of: old)
        let isRefused =
            if isForeign { true } else {
                try await isRefused(leftovers.count, of: old.count, isNoted: trashed.contains(Self.note))
            }
        metrics.set(.sweepRefused, to: isRefused ? Double(leftovers.count) : 0, ["folder": folder.rawValue])
        guard !isRefused else { return }
        try await storage.remove(Self.note, from: folder.trash)
        try await trash(leftovers)
        try await emptyTrash()
    }

    private func isRefused(_ leftovers: Int, of files: Int, isNoted: Bool) async throws -> Bool {
        guard leftovers > Self.few, rules.limit < 100 else { return false }
        switch suspicion {
        case .manyLeftovers: guard leftovers * 100 > files * rules.limit else { return false }
        case .emptyDatabase(let isEmpty): guard try await isEmpty() else { return false }
        }
        if isNoted {
            let due = try await storage.names(in: folder.trash, unchangedFor: rules.trashAge)
            guard !due.contains(Self.note) else { return false }
        } else {
            // A full disk has no space for the note. Then the sweep fails, but operators need the alert.
            metrics.set(.sweepRefused, to: Double(leftovers), ["folder": folder.rawValue])
            _ = try await storage.create(Self.note, in: folder.trash)
        }
        logger.error(
            "refused to sweep unreferenced files; set SWEEP_LIMIT=100 if the database belongs to DATA_DIRECTORY",
            metadata: metadata([LogKey.files: "\(files)", LogKey.leftovers: "\(leftovers)"]))
        return true
    }

    /// Restores files to which a row refers again, for example because a restored database was rolled forward.
    private func putBack(_ trashed: [String]) async throws {
        let leftovers = Set(try await unnamed(of: trashed))
        let count = try await move(trashed.filter { !leftovers.contains($0) }, from: folder.trash, to: folder)
        guard count > 0 else { return }
        logger.notice("restored referenced files from the trash", metadata: metadata([LogKey.files: "\(count)"]))
    }

    private func trash(_ leftovers: [String]) async throws {
        let count = try await move(leftovers, from: folder, to: folder.trash)
        guard count > 0 else { return }
        metrics.add(Double(count), to: .filesTrashed, ["folder": folder.rawValue])
        logger.notice("moved unreferenced files to the trash", metadata: metadata([LogKey.files: "\(count)"]))
    }

    private func emptyTrash() async throws {
        let due = try await storage.names(in: folder.trash, unchangedFor: rules.trashAge)
        for name in due {
            do { try await storage.remove(name, from: folder.trash) } catch let error as StorageError {
                complain("failed to remove a file from the trash", name, error)
            }
        }
        guard !due.isEmpty else { return }
        logger.notice("emptied the trash", metadata: metadata([LogKey.files: "\(due.count)"]))
    }

    /// - Returns: the number of files that this process moved. Another process may have moved the others.
    private func move(_ names: [String], from folder: StorageFolder, to other: StorageFolder) async throws -> Int {
        var count = 0
        for name in names {
            do {
                try await storage.move(name, from: folder, to: other)
                count += 1
            } catch StorageError.missing {
                continue
            } catch let error as StorageError {
                complain("failed to move a file of the sweep", name, error)
            }
        }
        return count
    }

    private func unnamed(of names: [String]) async throws -> [String] {
        var unnamed: [String] = []
        var rest = names[...]
        while !rest.isEmpty {
            let page = Array(rest.prefix(Self.page))
            rest = rest.dropFirst(Self.page)
            let used = try await inUse(page)
            unnamed += page.filter { !used.contains($0) }
        }
        return unnamed
    }

    private func complain(_ words: Logger.Message, _ name: String, _ error: StorageError) {
        logger.warning(words, error: error, metadata: metadata([LogKey.file: "\(name)"]))
    }

    private func metadata(_ more: Logger.Metadata) -> Logger.Metadata {
        more.merging([LogKey.folder: "\(folder.rawValue)"]) { $1 }
    }
}

/// The operator's settings for sweeps.
struct SweepRules: Sendable {
    /// The days for which a file stays in the trash.
    private var trashDays = 7
    /// The percentage of a folder's files that one sweep may move.
    var limit = 50

    /// The time for which a file stays in the trash.
    var trashAge: Duration { .seconds(trashDays * 86_400) }

    init() {}

    init(_ reader: SettingsReader) {
        trashDays = reader.number(
            "TRASH_DAYS", trashDays, 1...3650, "days for which unreferenced files stay in the trash of DATA_DIRECTORY")
        limit = reader.number(
            "SWEEP_LIMIT", limit, 1...100,
            "percentage of a folder's files that one sweep may move to the trash; 100 allows all")
    }
}
