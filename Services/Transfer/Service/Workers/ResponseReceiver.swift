import Contracts
import Crypto
import NIOCore
import Synchronization
import TransferCore

/// Receives the bytes of an attempt: hashes them and writes them in pieces of 256 KiB.
///
/// For use by one task. At most two pieces are in memory, and one of them is being written.
final class ResponseReceiver {
    private let written: Written
    /// Called when a progress report is due.
    private let onProgress: () -> Void
    private let task: TransferTask
    private let epoch: Int
    private let storage: any Storage
    private var hash = SHA256()
    private var pending = ByteBuffer()
    private var writes = WriteBehind()
    private var pace = Pace()
    /// The bytes of the whole so far.
    private(set) var taken = 0

    /// - Parameter written: the attempt's file, which other tasks may read meanwhile.
    init(
        _ task: TransferTask, epoch: Int, storage: any Storage, written: Written, onProgress: @escaping () -> Void
    ) {
        self.written = written
        self.task = task
        self.epoch = epoch
        self.storage = storage
        self.onProgress = onProgress
    }

    /// The digest of all received bytes, in hexadecimal.
    var sha256: String { hash.finalize().hexadecimal }

    /// Hashes the bytes of former attempts.
    ///
    /// - Throws: ``StorageError/missing`` if a file is missing or too short.
    func hashWhatIsThere() async throws {
        for piece in task.pieces { try await read(piece) { hash.update($0) } }
    }

    /// Creates the file of the attempt, whose bytes begin at an offset: the end of the stored bytes, or 0.
    func begin(at offset: Int) async throws {
        if offset == 0 { hash = SHA256() }
        taken = offset
        let name = task.storedPiece(Segment(epoch: epoch, length: 0)).name
        written.begin(try await storage.create(name, in: .segments), at: offset)
    }

    func take(_ buffer: ByteBuffer) async throws {
        taken += buffer.readableBytes
        hash.update(buffer)
        pending.writeImmutableBuffer(buffer)
        if pending.readableBytes >= FilePiece.chunk { try await write() }
        if pace.isDue(buffer.readableBytes) { onProgress() }
    }

    /// Makes all received bytes durable.
    ///
    /// - Returns: the number of durable bytes of the whole; nil before ``begin(at:)``.
    func flush() async throws -> Int? {
        try await write()
        try await writes.finish()
        return try await written.sync()
    }

    private func write() async throws {
        guard pending.readableBytes > 0 else { return }
        try await writes.begin { [pending, written] in try await written.append(pending) }
        pending = ByteBuffer()
    }

    /// Whether the complete file has the digest that the server sent.
    func keeps(_ digest: ReprDigest) async throws -> Bool {
        if let promised = digest.digests[.sha256] { return promised == Array(hash.finalize()) }
        guard let promised = digest.digests[.sha512] else { return true }
        // SHA-512 is rare, so it is not computed while the bytes arrive.
        var hash = SHA512()
        let former = written.base > 0 ? task.pieces : []
        for piece in former + [task.storedPiece(Segment(epoch: epoch, length: written.length))] {
            try await read(piece) { buffer in buffer.withUnsafeReadableBytes { hash.update(bufferPointer: $0) } }
        }
        return promised == Array(hash.finalize())
    }

    private func read(_ piece: StoredPiece, _ body: (ByteBuffer) -> Void) async throws {
        let file = try await storage.open(piece.name, in: .segments)
        try await FilePiece(file: file, range: 0..<piece.length.heldToBytes).forEachChunk { body($0) }
    }
}

/// The file of an attempt and its length.
final class Written: Sendable {
    private struct State {
        var file: (any StoredFile)?
        var base = 0
        var length = 0
    }

    private let state = Mutex(State())

    /// The offset of the attempt's first byte.
    var base: Int { state.withLock(\.base) }
    var length: Int { state.withLock(\.length) }

    fileprivate func begin(_ file: any StoredFile, at base: Int) {
        state.withLock { $0 = State(file: file, base: base) }
    }

    fileprivate func append(_ buffer: ByteBuffer) async throws {
        let (file, end) = state.withLock { ($0.file, $0.length) }
        try await file?.write(buffer, at: end)
        state.withLock { $0.length += buffer.readableBytes }
    }

    /// Makes the written bytes durable.
    ///
    /// - Returns: the number of durable bytes of the whole; nil before the file exists.
    func sync() async throws -> Int? {
        let state = state.withLock(\.self)
        try await state.file?.sync()
        return state.file == nil ? nil : state.base + state.length
    }
}
