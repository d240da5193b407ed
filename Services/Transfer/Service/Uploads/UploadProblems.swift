import HTTPTypes
import ServiceKit

extension Problem {
    static let uploadGone = Problem(.gone, "upload_gone", "The upload was deleted, or has expired")
    static let uploadOffset = Problem(
        .conflict, "upload_offset_mismatch", "The upload has another offset; HEAD tells it")
    static let uploadSuperseded = Problem(
        .conflict, "upload_superseded", "A newer request has taken the upload")
    static let uploadIncomplete = Problem(.conflict, "upload_incomplete", "The upload is not complete yet")
    static let uploadTooLarge = Problem(
        .contentTooLarge, "upload_too_large", "The upload is larger than it was said to be, or than any may be")
    static let uploadType = Problem(
        .unsupportedMediaType, "upload_media_type", "The protocol demands another Content-Type")
    /// Mostly nobody is there any more to read it.
    static let uploadCut = Problem(
        .badRequest, "upload_cut", "The request ended before its body did; HEAD tells what of it is kept")
    static let uploadFinal = Problem(.forbidden, "upload_final", "A concatenated upload takes no more bytes")
    static let uploadChecksum = Problem(
        .init(code: 460, reasonPhrase: "Checksum Mismatch"), "upload_checksum_mismatch",
        "The bytes do not have the checksum; none of them was kept")
    static let tusVersion = Problem(
        .preconditionFailed, "tus_version", "Tus-Resumable must be 1.0.0", headers: [.tusVersion: "1.0.0"])
    static let partialUnfinished = Problem(
        .badRequest, "partial_upload_unfinished", "Only complete partial uploads can be concatenated")
    static let draftVersion = Problem(
        .badRequest, "upload_draft_version", "Upload-Draft-Interop-Version must be 3, 5, 6 or 8")
    static let uploadCompleted = Problem(.badRequest, "completed_upload", "The upload is complete already")
    static let inconsistentLength = Problem(
        .badRequest, "inconsistent_upload_length", "The length differs from what was told before")
    static let mismatchingOffset = Problem(
        .conflict, "mismatching_upload_offset", "The upload has another offset; Upload-Offset tells it")

    /// The same with a header.
    func with(_ name: HTTPField.Name, _ value: String) -> Problem {
        var problem = self
        problem.headers[name] = value
        return problem
    }
}

extension HTTPField.Name {
    static let tusResumable = HTTPField.Name("Tus-Resumable")!
    static let tusVersion = HTTPField.Name("Tus-Version")!
    static let tusExtension = HTTPField.Name("Tus-Extension")!
    static let tusMaxSize = HTTPField.Name("Tus-Max-Size")!
    static let tusChecksumAlgorithm = HTTPField.Name("Tus-Checksum-Algorithm")!
    static let methodOverride = HTTPField.Name("X-HTTP-Method-Override")!
    static let uploadOffset = HTTPField.Name("Upload-Offset")!
    static let uploadLength = HTTPField.Name("Upload-Length")!
    static let uploadDeferLength = HTTPField.Name("Upload-Defer-Length")!
    static let uploadMetadata = HTTPField.Name("Upload-Metadata")!
    static let uploadConcat = HTTPField.Name("Upload-Concat")!
    static let uploadChecksum = HTTPField.Name("Upload-Checksum")!
    static let uploadExpires = HTTPField.Name("Upload-Expires")!
    static let uploadComplete = HTTPField.Name("Upload-Complete")!
    static let uploadIncomplete = HTTPField.Name("Upload-Incomplete")!
    static let uploadLimit = HTTPField.Name("Upload-Limit")!
    static let draftVersion = HTTPField.Name("Upload-Draft-Interop-Version")!
    static let acceptPatch = HTTPField.Name("Accept-Patch")!
}
