public import Contracts
import Foundation

/// A device token: 32 bytes in 64 hexadecimal digits. It contains the location of its device.
///
/// Bytes 0–1 are the partition (big-endian). Bytes 2–15 are the locator: the first 14 bytes of SHA-256 of the device's
/// key, which an expression index of the states finds. Bytes 16–31 are random and stored only in the device's state. So
/// a token is valid exactly when its transaction is committed, without a second table or a projection.
public struct PushToken: Sendable, Hashable, CustomStringConvertible {
    /// The partition of the device.
    public let partition: Int
    /// The first 14 bytes of SHA-256 of the device's key.
    public let locator: [UInt8]
    private let secret: [UInt8]

    init(_ key: AggregateKey, partitions: Int, random: (UInt64, UInt64)) {
        partition = key.partition(of: partitions)
        locator = Self.locator(key)
        secret = [random.0, random.1].flatMap(\.bytes)
    }

    /// Parses 64 hexadecimal digits of either case; nil for anything else.
    public init?(_ text: String) {
        guard let bytes = Hexadecimal.bytes(text), bytes.count == 32 else { return nil }
        partition = Int(bytes[0]) << 8 | Int(bytes[1])
        locator = Array(bytes[2..<16])
        secret = Array(bytes[16...])
    }

    public var description: String {
        Hexadecimal.text(
            [UInt8(truncatingIfNeeded: partition >> 8), UInt8(truncatingIfNeeded: partition)] + locator + secret)
    }

    /// Returns the locator of a device's tokens.
    public static func locator(_ key: AggregateKey) -> [UInt8] {
        // The first 16 bytes of SHA-256 of the key's UTF-8 text.
        let digest = DecisionIdentifiers.derived(key.description)
        return withUnsafeBytes(of: digest.uuid) { Array($0.prefix(14)) }
    }
}

extension UInt64 {
    /// The bytes in big-endian order.
    var bytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}

/// Lower-case hexadecimal text.
public enum Hexadecimal {
    /// Returns two digits for each byte.
    public static func text(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Parses pairs of digits of either case; nil for anything else.
    public static func bytes(_ text: String) -> [UInt8]? {
        let values = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard values.count == text.utf8.count, values.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
    }

    private static let digits = Array("0123456789abcdef".utf8)
}
