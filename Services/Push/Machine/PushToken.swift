public import Contracts
import Foundation

/// A device token: 32 bytes in 64 hexadecimal digits that lead to their device without any table beside the states.
///
/// Bytes 0–1 are the partition (big-endian), bytes 2–15 the locator: the first 14 bytes of SHA-256 of the device's key,
/// which an index over the states' own keys answers. Bytes 16–31 are random; only the device's state knows them. So a token is
/// found as soon as, and only if, the transaction that made it was committed: no projection can lag behind, and no second
/// table has to be kept in step.
public struct PushToken: Sendable, Hashable, CustomStringConvertible {
    public let partition: Int
    /// 14 bytes.
    public let locator: [UInt8]
    private let secret: [UInt8]

    init(_ key: AggregateKey, partitions: Int, random: (UInt64, UInt64)) {
        partition = key.partition(of: partitions)
        locator = Self.locator(key)
        secret = [random.0, random.1].flatMap { number in
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) }
        }
    }

    /// Reads 64 hexadecimal digits, of either case; nil for anything else.
    public init?(_ text: String) {
        guard let bytes = Hexadecimal.bytes(text), bytes.count == 32 else { return nil }
        partition = Int(bytes[0]) << 8 | Int(bytes[1])
        locator = Array(bytes[2..<16])
        secret = Array(bytes[16...])
    }

    public var description: String {
        Hexadecimal.text([UInt8(truncatingIfNeeded: partition >> 8), UInt8(truncatingIfNeeded: partition)] + locator + secret)
    }

    /// The locator of a device's tokens.
    public static func locator(_ key: AggregateKey) -> [UInt8] {
        // The first half of SHA-256 of the key's UTF-8 bytes.
        let digest = DecisionIdentifiers.derived(key.description)
        return withUnsafeBytes(of: digest.uuid) { Array($0.prefix(14)) }
    }
}

/// Lower-case hexadecimal text.
public enum Hexadecimal {
    public static func text(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of a text of pairs of digits; nil for anything else.
    public static func bytes(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in text.utf8 {
            let value: UInt8
            switch digit {
            case 0x30...0x39: value = digit - 0x30
            case 0x41...0x46: value = digit - 0x37
            case 0x61...0x66: value = digit - 0x57
            default: return nil
            }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return high == nil ? bytes : nil
    }

    private static let digits = Array("0123456789abcdef".utf8)
}
