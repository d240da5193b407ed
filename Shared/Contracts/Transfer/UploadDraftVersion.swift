public import Records

/// An interop version of draft-ietf-httpbis-resumable-upload: the value of `Upload-Draft-Interop-Version`.
public enum UploadDraftVersion: String, WireEnum {
    /// Draft 01.
    case three = "3"
    /// Draft 03.
    case five = "5"
    /// Drafts 04 and 05.
    case six = "6"
    /// Draft 08.
    case eight = "8"

    /// Whether PATCH has its own media type, and answers contain length and limits.
    public var knowsPartialUpload: Bool { self == .six || self == .eight }
}

extension Profile {
    /// The version by which uploads of the generation are resumed; nil if they always begin anew.
    ///
    /// Source: the module NIOResumableUpload of swift-nio-extras: version 3 for iOS 17.0, and 6 for iOS 18.1. That iOS 26
    /// uses version 6 as well is our choice.
    public var uploadDraft: UploadDraftVersion? {
        guard has(.resumableUploads) else { return nil }
        return name.version < 18 ? .three : .six
    }
}
