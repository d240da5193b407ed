public import Records

/// A share from 0 to 100 %, with two decimal places: `60%`, `"2.5%"` or the number `60`.
public struct Percent: Value, Hashable, CustomStringConvertible {
    /// Hundredths of a percent, from 0 to 10,000.
    public let basisPoints: Int

    /// Creates a share, held to the range.
    public init(basisPoints: Int) { self.basisPoints = min(max(basisPoints, 0), 10_000) }
    /// Creates a share from whole percent, held to the range.
    public init(_ percent: Int) { self.init(basisPoints: min(max(percent, 0), 100) * 100) }

    public static let all = Percent(100)
    public static let none = Percent(0)
    public static var placeholder: Percent { .none }

    static let pattern = #"(?:100(?:\.0{1,2})?|[0-9]{1,2}(?:\.[0-9]{1,2})?)%"#
    static let form = "a share from 0 to 100 % such as 60% or 2.5%"

    /// Parses `60%` or `2.5%`.
    public init?(_ text: String) {
        guard let share = TextScanner.whole(text, Self.scan) else { return nil }
        self = share
    }

    static func scan(_ scanner: inout TextScanner) -> Percent? {
        scanner.attempt { scanner in
            guard let whole = scanner.number(digits: 1...3) else { return nil }
            var points = whole * 100
            if scanner.take(".") {
                let digits = scanner.rest.prefix { $0.isNumber }.count
                guard let fraction = scanner.number(digits: 1...2) else { return nil }
                points += digits == 1 ? fraction * 10 : fraction
            }
            guard scanner.take("%"), points <= 10_000 else { return nil }
            return Percent(basisPoints: points)
        }
    }

    /// The share as a number from 0 to 1.
    public var fraction: Double { Double(basisPoints) / 10_000 }

    public var description: String {
        let (whole, rest) = basisPoints.quotientAndRemainder(dividingBy: 100)
        if rest == 0 { return "\(whole)%" }
        return rest % 10 == 0 ? "\(whole).\(rest / 10)%" : "\(whole).\(rest < 10 ? "0" : "")\(rest)%"
    }

    public static var schema: JSON {
        [
            "anyOf": [
                ["type": "number", "minimum": 0, "maximum": 100],
                ["type": "string", "pattern": .string("^\(pattern)$")],
            ], "description": .string(form),
        ]
    }
    public func write(to binary: inout BinaryWriter) { basisPoints.write(to: &binary) }
    public static func read(from binary: inout BinaryReader) -> Percent {
        Percent(basisPoints: Int.read(from: &binary))
    }
    public func write(to json: inout JSONWriter) { json.write(description) }

    public static func read(_ json: JSON, _ reader: inout JSONReader) -> Percent? {
        if let text = json.string, let share = Percent(text) { return share }
        if let number = json.double, (0...100).contains(number) {
            return Percent(basisPoints: Int((number * 100).rounded()))
        }
        reader.fault("must be \(form)")
        return nil
    }
}

/// A key of a ``Mix``: a name that is one string in a file.
public protocol MixKey: Value, Hashable {
    /// The name in a file.
    var text: String { get }
}

extension WireEnum where Self: MixKey {
    public var text: String { rawValue }
}

/// One value for all, or shares of several values that add up to 100 %: `ios18`, or `{ios26: 60, ios18: 40}`.
public struct Mix<Key: MixKey>: Value, Hashable {
    /// A value and its share.
    public struct Part: Sendable, Hashable {
        public let key: Key
        public let share: Percent
    }

    /// The parts in the order of their names; at least one.
    public let parts: [Part]

    /// Creates a mix with one value.
    public init(_ key: Key) { parts = [Part(key: key, share: .all)] }

    private init(parts: [Part]) { self.parts = parts }

    /// The value with the largest share; of equal shares, the first name.
    public var principal: Key { (parts.max { $0.share.basisPoints < $1.share.basisPoints } ?? parts[0]).key }

    /// Returns the value at a position from 0 (included) to 2⁶⁴ (not included) of the added-up shares.
    public func value(at position: UInt64) -> Key {
        var point = Int(position.multipliedFullWidth(by: 10_000).high)
        for part in parts {
            if point < part.share.basisPoints { return part.key }
            point -= part.share.basisPoints
        }
        return parts[parts.count - 1].key
    }

    public static var placeholder: Self { Self(.placeholder) }

    public static var schema: JSON {
        [
            "anyOf": [
                Key.schema,
                [
                    "type": "object", "propertyNames": Key.schema, "additionalProperties": Percent.schema,
                    "minProperties": 1,
                ],
            ]
        ]
    }

    public func write(to binary: inout BinaryWriter) {
        parts.count.write(to: &binary)
        for part in parts {
            part.key.write(to: &binary)
            part.share.write(to: &binary)
        }
    }

    public static func read(from binary: inout BinaryReader) -> Self {
        let count = Int.read(from: &binary)
        var parts: [Part] = []
        guard (1...256).contains(count) else {
            binary.fail()
            return placeholder
        }
        for _ in 0..<count where !binary.isMalformed {
            parts.append(Part(key: Key.read(from: &binary), share: Percent.read(from: &binary)))
        }
        return binary.isMalformed ? placeholder : Self(parts: parts)
    }

    public func write(to json: inout JSONWriter) {
        guard parts.count > 1 else { return json.write(parts[0].key.text) }
        json.object { for part in parts { $0.member(part.key.text) { part.share.write(to: &$0) } } }
    }

    public static func read(_ json: JSON, _ reader: inout JSONReader) -> Self? {
        guard let members = json.members else { return Key.read(json, &reader).map { Self($0) } }
        var parts: [Part] = []
        for member in members.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }) {
            guard let share: Percent = reader.descend(member.name, member.value),
                let key: Key = reader.descend(member.name, .string(member.name))
            else { continue }
            parts.append(Part(key: key, share: share))
        }
        guard parts.count == members.count else { return nil }
        let sum = parts.reduce(0) { $0 + $1.share.basisPoints }
        guard sum == 10_000 else {
            reader.fault("must have shares that add up to 100 %, not to \(Double(sum) / 100) %")
            return nil
        }
        return Self(parts: parts)
    }
}
