import ServiceKit

/// The limits of uploads.
struct UploadLimits: Sendable {
    /// The most uploads of a device, and of the tokens of a fleet. Our choice.
    static let mostOfDevice = 10_000
    static let mostOfFleet = 1_000_000

    /// In bytes.
    let maxSize: Int
    /// Seconds after its last bytes until an incomplete upload expires.
    let lifetime: Int
    /// The bytes of all uploads of a device, and of those of a fleet with its devices.
    private let device: Int
    private let fleet: Int

    init(_ reader: SettingsReader) {
        maxSize = reader.number("UPLOAD_MAX_SIZE", 1 << 36, 1...(1 << 50), "largest size of an upload in bytes")
        lifetime = reader.number(
            "UPLOAD_LIFETIME", 86400, 1...31_536_000, "seconds after its last byte until an incomplete upload expires")
        device = reader.number("DEVICE_UPLOAD_QUOTA", 1 << 36, 1...(1 << 50), "bytes of all uploads of a device")
        fleet = reader.number(
            "FLEET_UPLOAD_QUOTA", 1 << 40, 1...(1 << 50), "bytes of all uploads of a fleet, with those of its devices")
    }

    /// The most that an owner may store.
    struct Quota: Sendable {
        let bytes: Int
        let uploads: Int
        /// In bytes, of the owner's fleet.
        let fleet: Int
    }

    /// Returns what all uploads of an owner may have; nil without a limit.
    func quota(ofOwner owner: String) -> Quota? {
        if owner.hasPrefix("device:") {
            Quota(bytes: device, uploads: Self.mostOfDevice, fleet: fleet)
        } else if owner.hasPrefix("fleet:") {
            Quota(bytes: fleet, uploads: Self.mostOfFleet, fleet: fleet)
        } else {
            nil
        }
    }
}
