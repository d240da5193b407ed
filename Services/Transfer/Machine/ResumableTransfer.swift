public import Contracts
public import Records

/// The request and the bytes of an ended transfer, which a new task of the same kind can continue once.
public struct ResumableTransfer: Record, Equatable {
    public var kind = TransferKind.download
    public var request: TransferRequest
    public var file = ""
    public var epoch = 0
    /// The received bytes of a download.
    public var segments: [Segment] = []
    public var response: ResponseHead?
    public var bytesExpected: Int?
    /// The file that an upload sends.
    public var body: AppFile?
    /// The resource of an upload at its server.
    public var upload: UploadResource?

    init(_ task: TransferTask) {
        kind = task.kind
        request = task.request
        file = task.file
        epoch = task.epoch
        switch task.kind {
        case .download:
            segments = task.segments
            response = task.response
            bytesExpected = task.bytesExpected
        case .upload:
            body = task.body
            upload = task.upload
        }
    }

    /// The storage pieces of its bytes, in order.
    public var pieces: [StoredPiece] {
        switch kind {
        case .download:
            segments.filter { $0.length > 0 }.map { StoredPiece(length: $0.length, name: "\(file)-\($0.epoch)") }
        case .upload: body?.pieces ?? []
        }
    }
}

/// The resource of an upload at its server (draft-ietf-httpbis-resumable-upload, "Upload Resource").
public struct UploadResource: Record, Equatable {
    /// Its URL.
    public var url: String
    /// The number of bytes that the server had at the last resumption.
    public var offset = 0
}
