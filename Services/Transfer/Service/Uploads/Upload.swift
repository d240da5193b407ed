import Timeline

/// One durable upload: the resource of which tus and the IETF draft are two views.
///
/// The offset that is told, ``received``, counts bytes that are on disk. It never goes back.
struct Upload: Sendable, Equatable {
    let id: String
    /// Who began it.
    let owner: String
    /// The request that has it now. Whoever has an older one writes no more.
    var epoch = 1
    /// Whether a writer has begun and did not end in good order.
    var isHeld = false
    /// In bytes.
    var received = 0
    /// In bytes; nil until the client tells it.
    var length: Int?
    var isComplete = false
    /// `Upload-Concat` of tus.
    var concatenation: String?
    /// `Upload-Metadata` of tus.
    var metadata: String?
    var contentType: String?
    /// What it consists of, in order.
    var segments: [UploadSegment] = []
    /// When it goes, unless more comes; nil where it stays.
    var expiresAt: Instant?
    /// Whether it was deleted, or has expired.
    var isGone = false

    init(id: String, owner: String) {
        self.id = id
        self.owner = owner
    }

    /// Whether it is only to be a part of another.
    var isPartial: Bool { concatenation == "partial" }
    /// Whether it was put together from others.
    var isFinal: Bool { concatenation?.hasPrefix("final;") ?? false }
    /// What is not complete goes some day, and so does what is a part only.
    var mayExpire: Bool { !isComplete || isPartial }
}

/// The beginning of a file.
struct UploadSegment: Sendable, Equatable {
    let file: String
    /// How many bytes of it count; what is behind them never was told.
    var size: Int
}
