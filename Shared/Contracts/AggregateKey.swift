public import Records

/// The key of an aggregate: whose history this is. `device:…`, `fleet:…`, `team:…`, `channel:…`.
///
/// Everything with the same key lives in the same partition, and is in order there.
public struct AggregateKey: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    public init(_ text: String) { description = text }

    public static func device(_ id: String) -> AggregateKey { AggregateKey("device:" + id) }

    /// The device, where this is a device's key.
    public var device: String? {
        description.hasPrefix("device:") ? String(description.dropFirst("device:".count)) : nil
    }

    /// The partition of this key among `count`: FNV-1a (64 bits) over the UTF-8 bytes, its two halves folded by XOR, modulo
    /// `count`. This is part of the log's contract: it never changes for a log that exists.
    public func partition(of count: Int) -> Int {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in description.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        return Int((hash >> 32 ^ hash) & 0xFFFF_FFFF) % count
    }
}

extension AggregateKey: Value {
    public static var placeholder: AggregateKey { AggregateKey("") }
    public static var schema: JSON { String.schema }
    public func write(to binary: inout BinaryWriter) { description.write(to: &binary) }
    public static func read(from binary: inout BinaryReader) -> AggregateKey { AggregateKey(.read(from: &binary)) }
    public func write(to json: inout JSONWriter) { json.write(description) }
    public static func read(_ json: JSON, _ reader: inout JSONReader) -> AggregateKey? {
        String.read(json, &reader).map(AggregateKey.init)
    }
}
