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

    private mutating func next() -> SHA256Digest {
        var hash = SHA256()
        withUnsafeBytes(of: (seed.uuid, count.bigEndian)) { hash.update(bufferPointer: $0) }
        count += 1
        return hash.finalize()
    }

    /// Returns a UUIDv7 (RFC 9562) with the given time.
    public mutating func uuid(at now: Instant) -> UUID {
        next().withUnsafeBytes { UUID(version7: now, random: $0) }
    }

    /// Returns a uniformly distributed 64-bit number.
    public mutating func number() -> UInt64 {
        next().withUnsafeBytes { UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) }
    }

    /// Returns the seed of a service's decision on an event: the same as `derived(name, id.lowercased)`, without texts in
    /// between.
    public static func derived(_ name: String, following id: UUID) -> UUID {
        let name = name.utf8
        return withUnsafeTemporaryAllocation(byteCount: name.count + 37, alignment: 1) { bytes in
            bytes.copyBytes(from: name)
            bytes[name.count] = 0x1F
            id.writeLowercased(to: UnsafeMutableRawBufferPointer(rebasing: bytes[(name.count + 1)...]))
            var hash = SHA256()
            hash.update(bufferPointer: UnsafeRawBufferPointer(bytes))
            return hash.finalize().withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
        }
    }

    /// Returns the id of an input that is derived from others: the first 16 bytes of the SHA-256 hash.
    public static func derived(_ parts: String...) -> UUID {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(parts.reduce(parts.count) { $0 + $1.utf8.count })
        for (index, part) in parts.enumerated() {
            if index > 0 { bytes.append(0x1F) }
            bytes.append(contentsOf: part.utf8)
        }
        return SHA256.hash(data: bytes).withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}

extension UUID {
    package init(bytes b: [UInt8]) {
        self.init(
            uuid: (b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15])
        )
    }

    init(version7 now: Instant, random: UnsafeRawBufferPointer) {
        var uuid = random.loadUnaligned(as: uuid_t.self)
        withUnsafeMutableBytes(of: &uuid) { bytes in
            for index in 0..<6 { bytes[index] = UInt8(truncatingIfNeeded: now.milliseconds >> (40 - 8 * index)) }
            bytes[6] = bytes[6] & 0x0F | 0x70
            bytes[8] = bytes[8] & 0x3F | 0x80
        }
        self.init(uuid: uuid)
    }
}
