import ServiceKit

/// The limits of uploads.
struct UploadLimits: Sendable {
    /// In bytes.
    let maxSize: Int
    /// Seconds after its last bytes until an incomplete upload expires.
    let lifetime: Int

    init(_ reader: SettingsReader) {
        maxSize = reader.number("UPLOAD_MAX_SIZE", 1 << 36, 1...(1 << 50), "largest size of an upload in bytes")
        lifetime = reader.number(
            "UPLOAD_LIFETIME", 86400, 1...31_536_000, "seconds after its last byte until an incomplete upload expires")
    }
}
