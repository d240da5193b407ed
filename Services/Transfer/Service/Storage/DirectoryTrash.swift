import Foundation
import Glibc
import Synchronization

/// The trash of a directory, as space that can be freed.
final class DirectoryTrash: Sendable {
    private struct TrashedFile {
        let path: String
        let trashedAt: Date
    }

    private let root: String
    private let isKept = Mutex(true)

    /// Until the first ``keep(_:)``, no file is removed.
    init(root: String) { self.root = root }

    /// Forbids the removal of files, for example while the database may not belong to them.
    func keep(_ kept: Bool) { isKept.withLock { $0 = kept } }

    /// Checks that bytes are free. If not, it first removes the oldest files of the trash, as few as possible.
    ///
    /// - Parameter free: returns the free bytes.
    /// - Throws: `full` if too few bytes are free with an empty trash.
    func require(_ bytes: Int, free: () throws(StorageError) -> Int) throws(StorageError) {
        guard try free() < bytes else { return }
        try isKept.withLock { isKept throws(StorageError) in
            // Another thread may have made room.
            guard !isKept, try free() < bytes else { return }
            for file in files() {
                unlink(file.path)
                if try free() >= bytes { return }
            }
        }
        guard try free() >= bytes else { throw .full }
    }

    /// The files in the trash, the oldest first.
    private func files() -> [TrashedFile] {
        let folders = Set(StorageFolder.allCases.map(\.trash)).map { "\(root)/\($0.rawValue)" }
        let files = folders.flatMap { folder -> [TrashedFile] in
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.filter { $0 != StorageSweep.note }.compactMap { name in
                let path = "\(folder)/\(name)"
                let attributes = try? FileManager.default.attributesOfItem(atPath: path)
                return (attributes?[.modificationDate] as? Date).map { TrashedFile(path: path, trashedAt: $0) }
            }
        }
        return files.sorted { ($0.trashedAt, $0.path) < ($1.trashedAt, $1.path) }
    }
}
