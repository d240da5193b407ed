import HTTPKit
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// How to append the body of a request to an upload.
struct UploadAppend: Sendable {
    /// The condition that completes the upload.
    enum Completion: Sendable {
        /// The upload has its length (tus).
        case atLength
        /// The whole body has arrived (the draft).
        case withBody
        case not
    }

    let body: RequestBody
    /// `Content-Length`.
    let announced: Int?
    let completion: Completion
    /// The checksum that the body must have.
    var check: UploadCheck?
    /// The error for a body that is too long.
    var overflow: any Error = Problem.uploadTooLarge

    init(_ request: Request, _ completion: Completion) {
        body = request.body
        announced = request.headers[.contentLength].flatMap(naturalNumber)
        self.completion = completion
    }
}

extension UploadStore {
    /// Receives a request's body and makes it durable. The received part of a cut body counts unless it has a checksum.
    ///
    /// - Parameter progress: gets each durable offset before the last one.
    /// - Returns: the upload after the append.
    /// - Throws: `upload_cut`, `upload_superseded`, `upload_checksum_mismatch`, `invalid_header`, `disk_full`, the overflow.
    func append(
        _ append: UploadAppend, to upload: Upload, _ active: ActiveUploads.ActiveUpload,
        progress: (Int) async -> Void = { _ in }
    ) async throws -> Upload {
        var (limit, overflow) = try await bound(of: upload, append)
        guard append.announced ?? 0 <= limit - upload.received else { throw overflow }
        var writer = UploadWriter(store: self, upload: upload, hash: append.check.map { UploadHash($0.algorithms) })
        let start = upload.received
        var iterator = append.body.makeAsyncIterator()
        var isCut = false
        reading: while true {
            active.receives(true)
            let buffer: ByteBuffer?
            do { buffer = try await iterator.next() } catch {
                // The connection failed. The client will send HEAD to get the offset.
                isCut = true
                break reading
            }
            active.receives(false)
            guard let buffer else { break }
            counts.received(buffer.readableBytes, by: .uploads)
            guard buffer.readableBytes <= limit - writer.offset else {
                try await writer.abandon()
                throw overflow
            }
            guard try await writer.write(buffer) else { continue }
            await progress(writer.upload.received)
            // Meanwhile, other uploads of the owner may have got bytes.
            if upload.length == nil { (limit, overflow) = try await bound(of: writer.upload, append) }
        }
        active.receives(false)
        // An orderly close of the connection within a body can look like the end of the body.
        isCut = isCut || append.announced.map { writer.offset - start < $0 } ?? active.isStopped
        let isWhole = !isCut
        if isWhole, let check = append.check {
            do { try await writer.hold(to: check) } catch {
                try await writer.abandon()
                throw error
            }
        }
        let isComplete =
            switch append.completion {
            case .atLength: writer.offset == upload.length
            case .withBody: writer.offset == upload.length ?? writer.offset
            case .not: false
            }
        let result = try await writer.finish(isWhole: isWhole, isComplete: isWhole && isComplete)
        guard isWhole else {
            throw append.check == nil
                ? Problem.uploadCut
                : .uploadCut.with(detail: "The upload keeps no bytes of this request, because its checksum is unknown.")
        }
        return result
    }

    /// Returns the length that an upload may reach, and the error for more bytes.
    private func bound(of upload: Upload, _ append: UploadAppend) async throws -> (limit: Int, overflow: any Error) {
        let most = min(upload.length ?? limits.maxSize, limits.maxSize)
        guard let allowed = try await allowedLength(of: upload), allowed < most else { return (most, append.overflow) }
        return (allowed, Problem.uploadQuota)
    }
}

/// Writes the bytes of one request to the upload's last file, or to a new file.
private struct UploadWriter {
    /// The received bytes become durable after this number of bytes or this time.
    static let checkpoint = (bytes: 8 << 20, time: Duration.seconds(1))

    let store: UploadStore
    /// The upload with its durable bytes.
    var upload: Upload
    /// Nil without a checksum. With one, the bytes count only when all have arrived.
    private var hash: UploadHash?
    private var file: (any StoredFile)?
    private var pending = ByteBuffer()
    private var writes = WriteBehind()
    /// The offset after the last byte that is in the file or in the write in progress.
    private var written: Int
    /// Whether the quotas have the whole length already.
    private let hasLength: Bool
    private var checked = ContinuousClock.now

    /// The offset after the last received byte.
    var offset: Int { written + pending.readableBytes }

    init(store: UploadStore, upload: Upload, hash: UploadHash?) {
        self.store = store
        self.upload = upload
        self.hash = hash
        written = upload.received
        hasLength = upload.length != nil
    }

    /// - Returns: whether all bytes are durable now.
    mutating func write(_ buffer: ByteBuffer) async throws -> Bool {
        hash?.update(buffer)
        pending.writeImmutableBuffer(buffer)
        let isDue =
            hash == nil
            && (offset - upload.received >= Self.checkpoint.bytes || checked.duration(to: .now) >= Self.checkpoint.time)
        if isDue || pending.readableBytes >= FilePiece.chunk { try await flush() }
        guard isDue else { return false }
        try await commit(isHeld: true)
        return true
    }

    /// - Throws: `upload_checksum_mismatch`, `invalid_header`.
    func hold(to check: UploadCheck) async throws(Problem) {
        let checksum = try await check.checksum()
        guard hash?.fits(checksum) == true else { throw .uploadChecksum }
    }

    /// Makes all bytes durable and releases the upload.
    ///
    /// - Parameters:
    ///   - isWhole: whether the whole body has arrived; bytes with a checksum count only then.
    ///   - isComplete: whether the body completes the upload.
    mutating func finish(isWhole: Bool, isComplete: Bool = false) async throws -> Upload {
        guard isWhole || hash == nil else {
            try await abandon()
            return upload
        }
        try await flush()
        try await commit(isHeld: false, isComplete: isComplete)
        return upload
    }

    /// Releases the upload in its last durable state. Later bytes of a refused request do not count.
    mutating func abandon() async throws {
        pending = ByteBuffer()
        written = upload.received
        try await commit(isHeld: false)
    }

    private mutating func flush() async throws {
        guard pending.readableBytes > 0 else { return }
        let file = try await openFile()
        let start = upload.received - (upload.segments.last?.size ?? 0)
        try await writes.begin { [pending, place = written - start] in try await file.write(pending, at: place) }
        written += pending.readableBytes
        pending = ByteBuffer()
    }

    private mutating func commit(isHeld: Bool, isComplete: Bool = false) async throws {
        try await writes.finish()
        let durable = upload
        let new = written - durable.received
        if new > 0 {
            try await file?.sync()
            upload.segments[upload.segments.count - 1].size += new
            upload.received = written
        }
        // A complete upload stays complete after a request without bytes.
        if isComplete { (upload.isComplete, upload.length) = (true, written) }
        // Only the request that opened the file may mark it as closed.
        upload.isHeld = isHeld || (file == nil && upload.isHeld)
        do { upload = try await committed(adding: hasLength ? 0 : new) } catch let problem as Problem
            where problem.code == Problem.uploadQuota.code
        {
            // Meanwhile, other uploads have filled the quota.
            upload = durable
            try await abandon()
            throw problem
        }
        checked = .now
    }

    private mutating func openFile() async throws -> any StoredFile {
        if let file { return file }
        let opened: any StoredFile
        if let last = upload.segments.last, !upload.isHeld {
            upload.isHeld = true
            upload = try await committed()
            opened = try await store.storage.reopen(last.file, in: .uploads)
        } else {
            // The former writer may still write to its file. Its bytes there do not count.
            upload.isHeld = true
            upload.segments.append(UploadSegment(file: "\(upload.id).\(upload.epoch)", size: 0))
            upload = try await committed()
            opened = try await store.storage.create(upload.segments[upload.segments.count - 1].file, in: .uploads)
        }
        file = opened
        return opened
    }

    private func committed(adding unmeasured: Int = 0) async throws -> Upload {
        if let upload = try await store.commit(upload, adding: unmeasured) { return upload }
        // If the upload is gone, its other files may have been removed before this request created one.
        if try await store.database.upload(upload.id)?.isGone ?? true {
            for segment in upload.segments { try await store.storage.discard(segment.file, from: .uploads) }
        }
        throw Problem.uploadSuperseded
    }
}

/// Returns a number of bytes in a header: digits only, at most fifteen (RFC 9651 section 3.3.1).
func naturalNumber(_ text: String) -> Int? {
    guard (1...15).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(text)
}
