import Timeline

/// A row of `transfer.contents`: a path and its current file.
struct StoredContent: Sendable, Equatable {
    var path: String
    /// The generated name of the file, unique for each state of each path.
    var file: String
    var size: Int
    /// In hexadecimal.
    var sha256: String
    var contentType: String
    /// In whole seconds; later than that of the former state.
    var modifiedAt: Instant

    /// A strong tag that depends on the bytes alone.
    var etag: String { "\"\(sha256.prefix(32))\"" }
}
