import HTTPKit
import HTTPTypes

extension Problem {
    static let uploadGone = Problem(
        .gone, "upload_gone", "Upload is gone", detail: "The upload was deleted or has expired.")
    static let uploadOffset = Problem(
        .conflict, "upload_offset_mismatch", "Upload-Offset does not match", detail: "HEAD returns the current offset.")
    static let uploadSuperseded = Problem(
        .conflict, "upload_superseded", "Request is superseded",
        detail: "A newer request has taken over or deleted the upload.")
    static let uploadIncomplete = Problem(.conflict, "upload_incomplete", "Upload is not complete")
    static let uploadTooLarge = Problem(
        .contentTooLarge, "upload_too_large", "Upload is too large",
        detail: "The upload exceeds its announced length or UPLOAD_MAX_SIZE.")
    static let uploadQuota = Problem(
        .insufficientStorage, "upload_quota_exceeded", "Upload quota is used up",
        detail: "Delete uploads. DEVICE_UPLOAD_QUOTA and FLEET_UPLOAD_QUOTA limit bytes; the number is limited too.")
    static let uploadType = Problem(
        .unsupportedMediaType, "upload_media_type", "Content-Type does not fit the protocol",
        detail: "tus needs \(TusRoutes.mediaType), the IETF draft needs \(DraftRoutes.mediaType).")
    /// In most cases the client has gone before it can read this.
    static let uploadCut = Problem(
        .badRequest, "upload_cut", "Upload body is cut off", detail: "HEAD returns how many bytes are stored.")
    static let uploadFinal = Problem(
        .forbidden, "upload_final", "Upload is final", detail: "A concatenated upload accepts no more bytes.")
    static let uploadChecksum = Problem(
        .init(code: 460, reasonPhrase: "Checksum Mismatch"), "upload_checksum_mismatch", "Checksum does not match",
        detail: "The upload keeps no bytes of this request.")
    static let tusVersion = Problem(
        .preconditionFailed, "tus_version", "tus version is not supported", detail: "Tus-Resumable must be 1.0.0.",
        headers: [.tusVersion: "1.0.0"])
    static let partialUnfinished = Problem(
        .badRequest, "partial_upload_unfinished", "Upload can't be concatenated",
        detail: "Every part must be a complete partial upload.")
    static let draftVersion = Problem(
        .badRequest, "upload_draft_version", "Draft version is not supported",
        detail: "Upload-Draft-Interop-Version must be 3, 5, 6 or 8.")
    static let uploadCompleted = Problem(.badRequest, "completed_upload", "Upload is already complete")
    static let inconsistentLength = Problem(
        .badRequest, "inconsistent_upload_length", "Length differs from the announced length")
    static let mismatchingOffset = Problem(
        .conflict, "mismatching_upload_offset", "Offset is not the end of the upload")

    /// Returns the same problem with a header.
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
