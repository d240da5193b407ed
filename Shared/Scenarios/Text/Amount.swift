public import Records

/// A number of bytes: `512kB`, `25MB`, `2GB` (decimal units) or a whole number of bytes. At most 1 TB.
public struct ByteCount: Value, Hashable, CustomStringConvertible {
    public let bytes: Int

    /// Creates a number of bytes, held to the range.
    public init(_ bytes: Int) { self.bytes = min(max(bytes, 0), Self.largest) }

    static let largest = 1_000_000_000_000
    static let pattern = #"[0-9]{1,9}(?:\.[0-9]{1,3})?(?:B|kB|MB|GB)"#
    static let form = "a number of bytes such as 512kB, 25MB or 2GB, at most 1000GB"
    private static let units: [(String, Int)] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1000), ("B", 1)]

    /// Parses a number with a unit.
    public init?(_ text: String) {
        guard let count = TextScanner.whole(text, Self.scan) else { return nil }
        self = count
    }

    static func scan(_ scanner: inout TextScanner) -> ByteCount? {
        guard let whole = scanner.number() else { return nil }
        var thousandths = whole * 1000
        if scanner.take(".") {
            let digits = scanner.rest.prefix { $0.isNumber }.count
            guard let fraction = scanner.number(digits: 1...3) else { return nil }
            thousandths += fraction * [1: 100, 2: 10, 3: 1][digits, default: 0]
        }
        for (unit, factor) in units where scanner.take(unit) {
            let (product, isTooLarge) = thousandths.multipliedReportingOverflow(by: factor)
            return isTooLarge || product / 1000 > largest ? nil : ByteCount(product / 1000)
        }
        return nil
    }

    public var description: String {
        for (unit, factor) in Self.units where bytes >= factor && bytes % factor == 0 {
            return "\(bytes / factor)\(unit)"
        }
        return "\(bytes)B"
    }

    public static var placeholder: ByteCount { ByteCount(0) }
    public static var schema: JSON {
        [
            "anyOf": [
                ["type": "integer", "minimum": 0, "maximum": .int(largest)],
                ["type": "string", "pattern": .string("^\(pattern)$")],
            ], "description": .string(form),
        ]
    }
    public func write(to binary: inout BinaryWriter) { bytes.write(to: &binary) }
    public static func read(from binary: inout BinaryReader) -> ByteCount { ByteCount(Int.read(from: &binary)) }
    public func write(to json: inout JSONWriter) { json.write(description) }

    public static func read(_ json: JSON, _ reader: inout JSONReader) -> ByteCount? {
        if let text = json.string, let count = ByteCount(text) { return count }
        if let number = json.int, (0...largest).contains(number) { return ByteCount(number) }
        reader.fault("must be \(form)")
        return nil
    }
}

/// A speed of transfers, such as `1.5MB/s`. From 1 byte a second.
public struct ByteRate: TextValue {
    public let bytesPerSecond: Int

    /// Creates a speed, at least 1 byte a second.
    public init(_ bytesPerSecond: Int) { self.bytesPerSecond = min(max(bytesPerSecond, 1), ByteCount.largest) }

    public static let form = "a speed such as 20kB/s or 1.5MB/s"
    public static var pattern: String { ByteCount.pattern + "/s" }
    public static var placeholder: ByteRate { ByteRate(1) }

    public init?(_ text: String) {
        let count = TextScanner.whole(text) { scanner in
            ByteCount.scan(&scanner).flatMap { scanner.take("/s") ? $0 : nil }
        }
        guard let count, count.bytes > 0 else { return nil }
        self.init(count.bytes)
    }

    public var description: String { "\(ByteCount(bytesPerSecond))/s" }
}

/// One value, or a list of values: `"23:00-06:30"` or `["12:00-13:00", "23:00-06:30"]`.
public struct OneOrMore<Item: Value & Hashable>: Value, Hashable {
    public let items: [Item]

    public init(_ items: Item...) { self.items = items }
    private init(items: [Item]) { self.items = items }

    public static var placeholder: Self { Self(items: []) }
    public static var schema: JSON {
        ["anyOf": [Item.schema, ["type": "array", "items": Item.schema, "minItems": 1, "maxItems": 64]]]
    }
    public func write(to binary: inout BinaryWriter) { items.write(to: &binary) }
    public static func read(from binary: inout BinaryReader) -> Self { Self(items: [Item].read(from: &binary)) }
    public func write(to json: inout JSONWriter) {
        if items.count == 1 { items[0].write(to: &json) } else { items.write(to: &json) }
    }

    public static func read(_ json: JSON, _ reader: inout JSONReader) -> Self? {
        guard let list = json.items else { return Item.read(json, &reader).map { Self(items: [$0]) } }
        guard (1...64).contains(list.count) else {
            reader.fault("must have from 1 to 64 items")
            return nil
        }
        return [Item].read(json, &reader).map { Self(items: $0) }
    }
}
