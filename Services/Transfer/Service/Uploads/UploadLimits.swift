import ServiceKit

/// What uploads are held to.
struct UploadLimits: Sendable {
    /// Bytes of one upload.
    let maxSize: Int
    /// Seconds after which an upload that gets no more goes.
    let lifetime: Int

    /// The settings.
    static let settings: [Setting] = [
        .number("UPLOAD_MAX_SIZE", 1 << 36, 1...(1 << 50), "bytes that one upload may have"),
        .number("UPLOAD_LIFETIME", 86400, 1...31_536_000, "seconds until an upload goes that gets no more"),
    ]

    init(_ configuration: ServiceConfiguration) {
        maxSize = configuration.number("UPLOAD_MAX_SIZE") ?? 1 << 36
        lifetime = configuration.number("UPLOAD_LIFETIME") ?? 86400
    }
}
