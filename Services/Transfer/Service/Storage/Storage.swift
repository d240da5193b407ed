import Glibc
import NIOCore

/// A store for files with generated names. It has only the operations that this service needs, so it need not be a
/// directory.
///
/// All replicas share it. Names are durable after `create` and `link`, bytes after `sync`. The functions throw
/// ``StorageError``.
protocol Storage: Sendable {
    /// The largest size of a download in bytes.
    var largestDownload: Int { get }

    /// Creates an empty file. It replaces a file with the same name.
    func create(_ name: String, in folder: StorageFolder) async throws -> any StoredFile

    /// Opens a file for reading.
    func open(_ name: String, in folder: StorageFolder) async throws -> any StoredFile

    /// Opens a file for writing, and keeps its bytes.
    func reopen(_ name: String, in folder: StorageFolder) async throws -> any StoredFile

    /// Gives a file a second name and sets its time to now. The bytes stay until both names are removed.
    func link(_ name: String, from source: StorageFolder, as other: String, in folder: StorageFolder) async throws

    /// Moves a file and sets its time to now. It replaces a file with the same name.
    ///
    /// - Throws: `missing` if the file is gone: another process may have moved it.
    func move(_ name: String, from folder: StorageFolder, to other: StorageFolder) async throws

    /// Removes a file if it exists, also in a cancelled task, so that every cleanup happens. Open files stay readable.
    func remove(_ name: String, from folder: StorageFolder) async throws

    /// Returns the files that have not changed for at least `age`, by the clock of the storage.
    func names(in folder: StorageFolder, unchangedFor age: Duration) async throws -> [String]
}

extension Storage {
    var largestDownload: Int { .max }

    /// Moves a file to the trash if it exists: an older database, which a restore brings back, may refer to it.
    func discard(_ name: String, from folder: StorageFolder) async throws {
        do { try await move(name, from: folder, to: folder.trash) } catch StorageError.missing {}
    }
}

/// The folders of a storage.
enum StorageFolder: String, CaseIterable {
    case contents, segments, uploads
    /// Files that a sweep moved out of the other folders.
    case trashedContents = "trash/contents"
    case trashedSegments = "trash/segments"
    case trashedUploads = "trash/uploads"

    /// The folder to which a sweep moves unreferenced files.
    var trash: StorageFolder {
        switch self {
        case .contents, .trashedContents: .trashedContents
        case .segments, .trashedSegments: .trashedSegments
        case .uploads, .trashedUploads: .trashedUploads
        }
    }
}

/// An open file for use by one task at a time. It closes with its last reference.
protocol StoredFile: Sendable {
    /// Writes all bytes at an offset.
    func write(_ buffer: ByteBuffer, at offset: Int) async throws

    /// Makes all written bytes durable.
    func sync() async throws

    /// Reads `count` bytes; fewer only at the end of the file.
    func read(at offset: Int, count: Int) async throws -> ByteBuffer
}

/// A failure of the storage.
enum StorageError: Error, Equatable, CustomStringConvertible {
    /// No space is left beyond the reserve, the quota is used up, or the file has its largest size.
    case full
    /// Too many files are open, or no memory is left.
    case exhausted
    case missing
    case failed(operation: String, errno: Int32)

    init(_ operation: String, _ number: Int32 = errno) {
        switch number {
        case ENOSPC, EDQUOT, EFBIG: self = .full
        case ENOENT: self = .missing
        case EMFILE, ENFILE, ENOMEM, EAGAIN: self = .exhausted
        default: self = .failed(operation: operation, errno: number)
        }
    }

    var description: String {
        switch self {
        case .full: "no space is left in DATA_DIRECTORY, or the file has its largest size"
        case .missing: "a file of DATA_DIRECTORY is missing"
        case .exhausted: "too many files are open, or no memory is left"
        case .failed(let operation, let number):
            "\(operation) in DATA_DIRECTORY failed: \(String(cString: strerror(number)))"
        }
    }
}
