import Contracts
public import Foundation

/// An `apns-unique-id`: a UUID of version 8 (RFC 9562: a custom layout) that contains the location of its device.
///
/// Bytes 0–1 are the partition (big-endian). Bytes 2–5 and 7 are the first five bytes of the locator of the device's
/// tokens. The rest is random, except version and variant.
public struct NotificationID: Sendable, Hashable, CustomStringConvertible {
    /// The partition of the device.
    public let partition: Int
    /// The first five bytes of the locator of the device.
    public let locatorPrefix: [UInt8]
    public let description: String

    /// Creates an id for the device of a token.
    ///
    /// - Parameter random: the source of its random bits.
    public init(_ token: PushToken, random: UUID) {
        var id = random.uuid
        withUnsafeMutableBytes(of: &id) { bytes in
            bytes[0] = UInt8(truncatingIfNeeded: token.partition >> 8)
            bytes[1] = UInt8(truncatingIfNeeded: token.partition)
            for index in 0..<4 { bytes[2 + index] = token.locator[index] }
            bytes[6] = bytes[6] & 0x0F | 0x80
            bytes[7] = token.locator[4]
            bytes[8] = bytes[8] & 0x3F | 0x80
        }
        partition = token.partition
        locatorPrefix = Array(token.locator.prefix(5))
        description = UUID(uuid: id).lowercased
    }

    /// Parses an id; nil for other texts and for UUIDs of another version.
    public init?(_ text: String) {
        guard let uuid = UUID(uuidString: text) else { return nil }
        let bytes = withUnsafeBytes(of: uuid.uuid) { Array($0) }
        guard bytes[6] >> 4 == 8 else { return nil }
        partition = Int(bytes[0]) << 8 | Int(bytes[1])
        locatorPrefix = Array(bytes[2...5]) + [bytes[7]]
        description = uuid.lowercased
    }
}
