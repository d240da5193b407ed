import Glibc
import NIOCore

/// Where bytes are kept, under names that this service generates: what contents, attempts and uploads need of it, and no more,
/// so that something other than a directory can do it.
///
/// All replicas share it. What returns has lasted: a name when it was created or linked, bytes when they were synced. The
/// functions throw ``StorageError``.
protocol Storage: Sendable {
    /// A new empty file; whatever had its name is gone.
    func create(_ name: String, in folder: StorageFolder) async throws -> any StoredFile

    /// Opens a file to read it.
    func open(_ name: String, in folder: StorageFolder) async throws -> any StoredFile

    /// Opens a file to write more to it.
    func reopen(_ name: String, in folder: StorageFolder) async throws -> any StoredFile

    /// Gives a file a second name; its bytes stay until both are removed.
    ///
    /// The file counts as changed then, so that nobody takes its new name for a leftover.
    func link(_ name: String, from source: StorageFolder, as other: String, in folder: StorageFolder) async throws

    /// Moves a file and sets its time to now. It replaces a file with the same name.
    ///
    /// - Throws: `missing` if the file is gone: another process may have moved it.
    func move(_ name: String, from folder: StorageFolder, to other: StorageFolder) async throws

    /// Removes a file; one that is not there is as good as removed. Whoever has it open reads on.
    func remove(_ name: String, from folder: StorageFolder) async throws

    /// The files that were not changed for so long, by the storage's own clock.
    func names(in folder: StorageFolder, unchangedFor age: Duration) async throws -> [String]
}

/// What a storage keeps apart.
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

/// An open file, closed when nobody has it any more. Used by one task at a time.
protocol StoredFile: Sendable {
    /// Writes at a place, all of it.
    func write(_ buffer: ByteBuffer, at offset: Int) async throws

    /// Returns when everything written is durable.
    func sync() async throws

    /// Reads at most `count` bytes; fewer at the end of the file only.
    func read(at offset: Int, count: Int) async throws -> ByteBuffer
}

/// Why bytes could not be kept or found.
enum StorageError: Error, Equatable, CustomStringConvertible {
    /// No space is left, the quota is used up, or the file may not be longer.
    case full
    /// The process or the system has none left of what is only lent: files that may be open, memory.
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
        case .full: "no space is left in DATA_DIRECTORY"
        case .missing: "a file of DATA_DIRECTORY is missing"
        case .exhausted: "too many files are open, or no memory is left"
        case .failed(let operation, let number):
            "\(operation) in DATA_DIRECTORY failed: \(String(cString: strerror(number)))"
        }
    }
}
