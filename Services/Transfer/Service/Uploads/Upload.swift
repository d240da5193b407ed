import Timeline

/// A durable upload. Both protocols, tus and the IETF draft, give access to it.
///
/// Its offset ``received`` counts bytes that are on disk. It never decreases.
struct Upload: Sendable, Equatable {
    let id: String
    /// The caller that created it.
    let owner: String
    /// The fleet of the creator; nil for an operator.
    let fleet: String?
    /// The fence: each request that takes the upload increments it, and an older request can't commit.
    var epoch = 1
    /// Whether a writer may still have the last file open.
    var isHeld = false
    /// In bytes.
    var received = 0
    /// In bytes; nil until the client sends it.
    var length: Int?
    var isComplete = false
    /// `Upload-Concat` of tus.
    var concatenation: String?
    /// `Upload-Metadata` of tus.
    var metadata: String?
    var contentType: String?
    /// Its files, in order.
    var segments: [UploadSegment] = []
    /// The time of expiry without more bytes; nil if it does not expire.
    var expiresAt: Instant?
    /// Whether it was deleted or has expired.
    var isGone = false

    /// Whether it is a part for a concatenation.
    var isPartial: Bool { concatenation == "partial" }
    /// Whether it is a concatenation.
    var isFinal: Bool { concatenation?.hasPrefix("final;") ?? false }
    /// Whether it expires: incomplete and partial uploads do.
    var mayExpire: Bool { !isComplete || isPartial }
}

/// The first bytes of a file, as part of an upload.
struct UploadSegment: Sendable, Equatable {
    let file: String
    /// The number of bytes that belong to the upload; later bytes of the file were never acknowledged.
    var size: Int
}
