public import Records

/// The key of an aggregate: `device:…`, `fleet:…`, `team:…` or `channel:…`.
///
/// The events of one key are in one partition and have an order there.
public struct AggregateKey: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    /// Creates a key from its text, `<kind>:<id>`.
    public init(_ text: String) { description = text }

    /// Returns the key of a device.
    public static func device(_ id: String) -> AggregateKey { AggregateKey("device:" + id) }

    /// The id of the device; nil if this is not a device's key.
    public var device: String? {
        description.hasPrefix("device:") ? String(description.dropFirst("device:".count)) : nil
    }

    /// Returns the partition of this key among `count` partitions.
    ///
    /// It is the 64-bit FNV-1a hash of the UTF-8 bytes, with its two halves combined by XOR, modulo `count`. It is
    /// part of the contract of the log and never changes for an existing log.
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
