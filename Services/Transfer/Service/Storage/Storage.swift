import Foundation
import Glibc
import NIOCore
import NIOPosix

/// Why bytes could not be kept or found.
enum StorageError: Error, Equatable, CustomStringConvertible {
    /// No space is left, the quota is used up, or the file may not be longer.
    case full
    case missing
    case failed(operation: String, errno: Int32)

    init(_ operation: String, _ number: Int32 = errno) {
        switch number {
        case ENOSPC, EDQUOT, EFBIG: self = .full
        case ENOENT: self = .missing
        default: self = .failed(operation: operation, errno: number)
        }
    }

    var description: String {
        switch self {
        case .full: "no space is left in DATA_DIRECTORY"
        case .missing: "a file of DATA_DIRECTORY is missing"
        case .failed(let operation, let number):
            "\(operation) in DATA_DIRECTORY failed: \(String(cString: strerror(number)))"
        }
    }
}

/// Files in a directory that all replicas share, under names that this service generates.
///
/// All calls to the file system run on threads of their own, never on Swift's cooperative ones. They are many, because what
/// they do is wait for the disk, and what waits at the same time is made durable together.
struct Storage: Sendable {
    enum Folder: String, CaseIterable { case contents, segments, uploads }

    private let root: String

    /// - Throws: where the directory can't be made.
    init(directory: String) throws(StorageError) {
        root = directory
        for folder in Folder.allCases {
            do {
                try FileManager.default.createDirectory(
                    atPath: "\(directory)/\(folder.rawValue)", withIntermediateDirectories: true)
            } catch { throw .failed(operation: "making a directory", errno: EACCES) }
        }
    }

    func path(_ folder: Folder) -> String { "\(root)/\(folder.rawValue)" }

    private func path(_ folder: Folder, _ name: String) -> String { "\(path(folder))/\(name)" }

    /// A new empty file; whatever had its name is gone.
    func create(_ name: String, in folder: Folder) async throws -> StoredFile {
        let path = path(folder, name)
        let file = try await onThread {
            let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o640)
            guard descriptor >= 0 else { throw StorageError("creating a file") }
            return StoredFile(descriptor: descriptor)
        }
        try await syncDirectory(folder)
        return file
    }

    func open(_ name: String, in folder: Folder) async throws -> StoredFile {
        let path = path(folder, name)
        return try await onThread {
            let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw StorageError("opening a file") }
            return StoredFile(descriptor: descriptor)
        }
    }

    /// Opens a file to write more to it.
    func reopen(_ name: String, in folder: Folder) async throws -> StoredFile {
        let path = path(folder, name)
        return try await onThread {
            let descriptor = Glibc.open(path, O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw StorageError("opening a file") }
            return StoredFile(descriptor: descriptor)
        }
    }

    /// Gives a file a second name; its bytes stay until both are removed.
    func link(_ name: String, as other: String, in folder: Folder, from source: Folder? = nil) async throws {
        let (path, second) = (path(source ?? folder, name), path(folder, other))
        try await onThread {
            guard Glibc.link(path, second) == 0 else { throw StorageError("linking a file") }
            // As young as its new name, so that nobody takes that for a leftover before it is named.
            guard utimensat(AT_FDCWD, second, nil, 0) == 0 else { throw StorageError("touching a file") }
        }
        try await syncDirectory(folder)
    }

    /// Names must be as durable as the bytes.
    private func syncDirectory(_ folder: Folder) async throws {
        let parent = path(folder)
        try await onThread {
            let directory = Glibc.open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard directory >= 0 else { throw StorageError("opening a directory") }
            defer { close(directory) }
            guard fsync(directory) == 0 else { throw StorageError("syncing a directory") }
        }
    }

    /// Removes a file; one that is not there is as good as removed. Whoever has it open reads on.
    func remove(_ name: String, from folder: Folder) async throws {
        let path = path(folder, name)
        try await onThread {
            guard unlink(path) == 0 || errno == ENOENT else { throw StorageError("removing a file") }
        }
    }
}

/// An open file. Used by one task at a time.
final class StoredFile: Sendable {
    private let descriptor: Int32

    init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Writes at a place, all of it.
    func write(_ buffer: ByteBuffer, at offset: Int) async throws {
        try await onThread { [descriptor] in
            var offset = offset
            try buffer.withUnsafeReadableBytes { bytes in
                var rest = bytes[...]
                while let base = UnsafeRawBufferPointer(rebasing: rest).baseAddress, !rest.isEmpty {
                    let written = pwrite(descriptor, base, rest.count, off_t(offset))
                    guard written >= 0 || errno == EINTR else { throw StorageError("writing a file") }
                    rest = rest.dropFirst(max(0, written))
                    offset += max(0, written)
                }
            }
        }
    }

    /// Returns when everything written is durable.
    func sync() async throws {
        try await onThread { [descriptor] in
            guard fdatasync(descriptor) == 0 else { throw StorageError("syncing a file") }
        }
    }

    /// Reads at most `count` bytes; fewer at the end of the file only.
    func read(at offset: Int, count: Int) async throws -> ByteBuffer {
        try await onThread { [descriptor] in
            var buffer = ByteBuffer()
            while buffer.readableBytes < count {
                let missing = count - buffer.readableBytes
                let place = off_t(offset + buffer.readableBytes)
                let got = try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: missing) { space in
                    let got = pread(descriptor, space.baseAddress, missing, place)
                    guard got >= 0 || errno == EINTR else { throw StorageError("reading a file") }
                    return got < 0 ? 0 : got
                }
                if got == 0 { break }
            }
            return buffer
        }
    }
}

/// A stretch of a file.
struct FilePiece: Sendable {
    /// How much is read at once: what one reader takes of memory.
    static let chunk = 256 * 1024

    let file: StoredFile
    let range: Range<Int>

    /// Hands the bytes over in order, as fast as they are taken.
    ///
    /// - Throws: `missing` where the file is shorter than it should be.
    func forEachChunk(_ body: (ByteBuffer) async throws -> Void) async throws {
        var offset = range.lowerBound
        while offset < range.upperBound {
            let buffer = try await file.read(at: offset, count: min(Self.chunk, range.upperBound - offset))
            guard buffer.readableBytes > 0 else { throw StorageError.missing }
            try await body(buffer)
            offset += buffer.readableBytes
        }
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
