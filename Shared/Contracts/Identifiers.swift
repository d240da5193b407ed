import Crypto
public import Foundation
public import Timeline

/// The identifiers and random numbers of one decision.
///
/// The k-th is SHA-256(input id, k). An input has equal decisions on every machine and at every repetition.
public struct DecisionIdentifiers: Sendable {
    private let seed: UUID
    private var count: UInt64 = 0

    /// Creates the identifiers of the decision on an input. `seed` is the id of the input.
    public init(seed: UUID) { self.seed = seed }

    private mutating func next() -> [UInt8] {
        var hash = SHA256()
        withUnsafeBytes(of: seed.uuid) { hash.update(bufferPointer: $0) }
        withUnsafeBytes(of: count.bigEndian) { hash.update(bufferPointer: $0) }
        count += 1
        return Array(hash.finalize())
    }

    /// Returns a UUIDv7 (RFC 9562) with the given time.
    public mutating func uuid(at now: Instant) -> UUID { UUID(version7: now, random: next()) }

    /// Returns a uniformly distributed 64-bit number.
    public mutating func number() -> UInt64 { next().prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }

    /// Returns the id of an input that is derived from others: the first 16 bytes of the SHA-256 hash.
    public static func derived(_ parts: String...) -> UUID {
        let hash = Array(SHA256.hash(data: Array(parts.joined(separator: "\u{1F}").utf8)))
        return UUID(bytes: hash)
    }
}

extension UUID {
    package init(bytes b: [UInt8]) {
        self.init(
            uuid: (b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15])
        )
    }

    init(version7 now: Instant, random: [UInt8]) {
        var bytes = Array(random.prefix(16))
        for index in 0..<6 { bytes[index] = UInt8(truncatingIfNeeded: now.milliseconds >> (40 - 8 * index)) }
        bytes[6] = bytes[6] & 0x0F | 0x70
        bytes[8] = bytes[8] & 0x3F | 0x80
        self.init(bytes: bytes)
    }
}
