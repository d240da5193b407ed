import Foundation
import Glibc
import NIOCore
import NIOPosix

/// Files in a directory that all replicas share.
///
/// All calls to the file system run on a thread pool, never on Swift's cooperative threads. The pool is large: its
/// threads wait for the disk, and the disk makes concurrent writes durable together.
struct DirectoryStorage: Storage {
    private let root: String
    private let limits: StorageLimits
    let trash: DirectoryTrash
    var largestDownload: Int { limits.largestDownload }

    /// - Throws: `failed` if a directory can't be created.
    init(_ directory: String, _ limits: StorageLimits = StorageLimits()) throws(StorageError) {
        root = directory
        self.limits = limits
        trash = DirectoryTrash(root: directory)
        for folder in StorageFolder.allCases {
            do {
                try FileManager.default.createDirectory(
                    atPath: path(folder), withIntermediateDirectories: true)
            } catch { throw .failed(operation: "making a directory", errno: EACCES) }
        }
    }

    private func path(_ folder: StorageFolder) -> String { "\(root)/\(folder.rawValue)" }

    private func path(_ folder: StorageFolder, _ name: String) -> String { "\(path(folder))/\(name)" }

    func create(_ name: String, in folder: StorageFolder) async throws -> any StoredFile {
        let file = try await open(path(folder, name), O_WRONLY | O_CREAT | O_TRUNC, reserve: limits.reserve)
        try await syncDirectory(folder)
        return file
    }

    func open(_ name: String, in folder: StorageFolder) async throws -> any StoredFile {
        try await open(path(folder, name), O_RDONLY)
    }

    func reopen(_ name: String, in folder: StorageFolder) async throws -> any StoredFile {
        try await open(path(folder, name), O_WRONLY, reserve: limits.reserve)
    }

    func link(_ name: String, from source: StorageFolder, as other: String, in folder: StorageFolder) async throws {
        let (path, second) = (path(source, name), path(folder, other))
        try await onThread {
            guard Glibc.link(path, second) == 0 else { throw StorageError("linking a file") }
            // Sets the time, so that no sweep moves the new name before a row refers to it.
            guard utimensat(AT_FDCWD, second, nil, 0) == 0 else { throw StorageError("touching a file") }
        }
        try await syncDirectory(folder)
    }

    func move(_ name: String, from folder: StorageFolder, to other: StorageFolder) async throws {
        let (old, new) = (path(folder, name), path(other, name))
        try await onThreadAlways {
            // Sets the time first, so that the moved file never looks old.
            guard utimensat(AT_FDCWD, old, nil, 0) == 0 else { throw StorageError("touching a file") }
            guard rename(old, new) == 0 else { throw StorageError("moving a file") }
        }
    }

    func remove(_ name: String, from folder: StorageFolder) async throws {
        let path = path(folder, name)
        try await onThreadAlways {
            guard unlink(path) == 0 || errno == ENOENT else { throw StorageError("removing a file") }
        }
    }

    func names(in folder: StorageFolder, unchangedFor age: Duration) async throws -> [String] {
        let parent = path(folder)
        return try await onThread {
            let limit = Date(timeIntervalSinceNow: -Double(age.components.seconds))
            return try FileManager.default.contentsOfDirectory(atPath: parent).filter { name in
                // Skips a file that is gone by now. Anything but a regular file does not belong to this service.
                guard let attributes = try? FileManager.default.attributesOfItem(atPath: "\(parent)/\(name)"),
                    attributes[.type] as? FileAttributeType == .typeRegular,
                    let written = attributes[.modificationDate] as? Date
                else { return false }
                return written <= limit
            }
        }
    }

    /// Returns the text that names the log of these files; nil without one.
    func mark() async throws -> String? {
        let path = "\(root)/incarnation"
        return try await onThread {
            guard let data = FileManager.default.contents(atPath: path) else { return nil }
            return String(decoding: data, as: UTF8.self)
        }
    }

    /// Names the log of these files. A reader gets the old or the new name.
    func write(_ mark: StorageMark) async throws {
        let path = "\(root)/incarnation"
        try await onThread { try Data(mark.text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic) }
    }

    /// Whether there are no files, not even in the trash.
    var isEmpty: Bool {
        get async throws {
            for folder in StorageFolder.allCases where try await !names(in: folder, unchangedFor: .zero).isEmpty {
                return false
            }
            return true
        }
    }

    /// - Parameter reserve: the bytes that must stay free.
    private func open(_ path: String, _ flags: Int32, reserve: Int = 0) async throws -> DirectoryFile {
        try await onThread {
            if reserve > 0 {
                try trash.require(reserve + 1) { () throws(StorageError) in try freeBytes(at: root) }
            }
            let descriptor = Glibc.open(path, flags | O_CLOEXEC, 0o640)
            guard descriptor >= 0 else { throw StorageError("opening a file") }
            return DirectoryFile(descriptor: descriptor, reserve: reserve, trash: trash)
        }
    }

    /// Makes the names of new files durable.
    private func syncDirectory(_ folder: StorageFolder) async throws {
        let parent = path(folder)
        try await onThread {
            let directory = Glibc.open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard directory >= 0 else { throw StorageError("opening a directory") }
            defer { close(directory) }
            guard fsync(directory) == 0 else { throw StorageError("syncing a directory") }
        }
    }
}

/// An open file of a directory.
private final class DirectoryFile: StoredFile {
    private let descriptor: Int32
    /// The bytes that must stay free.
    private let reserve: Int
    private let trash: DirectoryTrash

    init(descriptor: Int32, reserve: Int, trash: DirectoryTrash) {
        self.descriptor = descriptor
        self.reserve = reserve
        self.trash = trash
    }

    deinit { close(descriptor) }

    func write(_ buffer: ByteBuffer, at offset: Int) async throws {
        try await onThread { [descriptor, reserve, trash] in
            if reserve > 0 {
                try trash.require(reserve + buffer.readableBytes) { () throws(StorageError) in
                    try freeBytes(of: descriptor)
                }
            }
            try buffer.withUnsafeReadableBytes { bytes in
                var done = 0
                while done < bytes.count {
                    done += try uninterrupted("writing a file") {
                        pwrite(descriptor, bytes.baseAddress! + done, bytes.count - done, off_t(offset + done))
                    }
                }
            }
        }
    }

    func sync() async throws {
        try await onThread { [descriptor] in
            guard fdatasync(descriptor) == 0 else { throw StorageError("syncing a file") }
        }
    }

    func read(at offset: Int, count: Int) async throws -> ByteBuffer {
        try await onThread { [descriptor] in
            var buffer = ByteBuffer()
            while buffer.readableBytes < count {
                let missing = count - buffer.readableBytes
                let position = off_t(offset + buffer.readableBytes)
                let got = try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: missing) { space in
                    try uninterrupted("reading a file") { pread(descriptor, space.baseAddress, missing, position) }
                }
                if got == 0 { break }
            }
            return buffer
        }
    }
}

/// Repeats a system call that a signal interrupts.
private func uninterrupted(_ operation: String, _ call: () -> Int) throws(StorageError) -> Int {
    while true {
        let result = call()
        if result >= 0 { return result }
        guard errno == EINTR else { throw StorageError(operation) }
    }
}

private let threads = {
    let pool = NIOThreadPool(numberOfThreads: 32)
    pool.start()
    return pool
}()

private func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await threads.runIfActive(body)
}

/// Runs also in a cancelled task, for which the pool of threads runs nothing.
private func onThreadAlways(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await Task { try await onThread(body) }.value
}
