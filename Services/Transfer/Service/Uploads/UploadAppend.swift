import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import ServiceKit

/// What is to become of the body of one request.
struct UploadAppend: Sendable {
    /// When the upload is complete.
    enum Completion: Sendable {
        /// As soon as it has its length (tus).
        case atLength
        /// When this body has come as a whole (the draft).
        case withBody
        case not
    }

    let body: RequestBody
    /// `Content-Length`.
    let announced: Int?
    let completion: Completion
    /// What the body is held to.
    var check: UploadCheck?
    /// What a body that is too long gets.
    var overflow: any Error = Problem.uploadTooLarge

    init(_ request: Request, _ completion: Completion) {
        body = request.body
        announced = request.headers[.contentLength].flatMap(naturalNumber)
        self.completion = completion
    }
}

extension UploadStore {
    /// Takes in the body of a request, as it comes, and makes it durable. One that is cut off counts as far as it came.
    ///
    /// - Parameter progress: hears the offset each time that it is durable and more is to come.
    /// - Returns: the upload as it is then.
    /// - Throws: `upload_cut`, `upload_superseded`, `upload_checksum_mismatch`, `invalid_header`, the overflow, `disk_full`.
    func append(
        _ append: UploadAppend, to upload: Upload, _ flight: UploadFlights.Flight,
        progress: (Int) async -> Void = { _ in }
    ) async throws -> Upload {
        let limit = min(upload.length ?? limits.maxSize, limits.maxSize)
        guard append.announced ?? 0 <= limit - upload.received else { throw append.overflow }
        var writer = UploadWriter(store: self, upload: upload, hash: append.check.map { UploadHash($0.algorithms) })
        let start = upload.received
        var iterator = append.body.makeAsyncIterator()
        var isCut = false
        reading: while true {
            flight.receives(true)
            let buffer: ByteBuffer?
            do { buffer = try await iterator.next() } catch {
                // Whatever ended the connection: the client will ask how far it came.
                isCut = true
                break reading
            }
            flight.receives(false)
            guard let buffer else { break }
            counts.received(buffer.readableBytes, by: .uploads)
            guard buffer.readableBytes <= limit - writer.offset else {
                try await writer.abandon()
                throw append.overflow
            }
            if try await writer.write(buffer) { await progress(writer.upload.received) }
        }
        flight.receives(false)
        // A connection that is closed in an orderly way in the midst of a body may look like the end of it.
        isCut = isCut || append.announced.map { writer.offset - start < $0 } ?? flight.isStopped
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
                ? Problem.uploadCut : .uploadCut.because("nothing of it is kept: its checksum is unknown")
        }
        return result
    }
}

/// Writes the bytes of one request to the upload's last file, or to one of its own.
private struct UploadWriter {
    /// After so many bytes, or so long, what has come is made durable.
    static let checkpoint = (bytes: 8 << 20, time: Duration.seconds(1))

    let store: UploadStore
    /// With what is durable of it.
    var upload: Upload
    /// Where there is a checksum, none of the bytes count before all of them do.
    private var hash: UploadHash?
    private var file: (any StoredFile)?
    private var pending = ByteBuffer()
    private var writes = WriteBehind()
    /// Behind the last byte that is in the file, or on its way there.
    private var written: Int
    private var checked = ContinuousClock.now

    /// Behind the last byte that has come.
    var offset: Int { written + pending.readableBytes }

    init(store: UploadStore, upload: Upload, hash: UploadHash?) {
        self.store = store
        self.upload = upload
        self.hash = hash
        written = upload.received
    }

    /// - Returns: whether all is durable now.
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

    /// Makes everything durable and lets go of the upload.
    ///
    /// - Parameters:
    ///   - isWhole: whether the body has come as a whole; what belongs to a checksum counts only then.
    ///   - isComplete: whether the upload is complete with it.
    mutating func finish(isWhole: Bool, isComplete: Bool = false) async throws -> Upload {
        guard isWhole || hash == nil else {
            try await abandon()
            return upload
        }
        try await flush()
        // What was complete before stays so, however a request that brings nothing more may end.
        upload.isComplete = upload.isComplete || isComplete
        if isComplete { upload.length = written }
        try await commit(isHeld: false)
        return upload
    }

    /// Lets go of the upload as it was when it was made durable last: of a request that is refused nothing more counts.
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

    private mutating func commit(isHeld: Bool) async throws {
        try await writes.finish()
        if written > upload.received {
            try await file?.sync()
            upload.segments[upload.segments.count - 1].size += written - upload.received
            upload.received = written
        }
        // Who never opened the file can't let go of it for another.
        upload.isHeld = isHeld || (file == nil && upload.isHeld)
        upload = try await committed()
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
            // Whoever held it may wake up and write on: then to a file that does not count any further.
            upload.isHeld = true
            upload.segments.append(UploadSegment(file: "\(upload.id).\(upload.epoch)", size: 0))
            upload = try await committed()
            opened = try await store.storage.create(upload.segments[upload.segments.count - 1].file, in: .uploads)
        }
        file = opened
        return opened
    }

    private func committed() async throws -> Upload {
        if let upload = try await store.table.commit(upload) { return upload }
        // Where it is gone, its files may have been removed before this one was created.
        if try await store.table.find(upload.id)?.isGone ?? true {
            for segment in upload.segments { try await store.storage.remove(segment.file, from: .uploads) }
        }
        throw Problem.uploadSuperseded
    }
}

/// A number of bytes as headers write it: digits only, at most fifteen (RFC 9651 section 3.3.1).
func naturalNumber(_ text: String) -> Int? {
    guard (1...15).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(text)
}
