public import Records

/// An endless sequence of documents that test readers and writers of JSON. The same seed gives the same documents on
/// every machine. They contain extreme numbers, deep nesting, U+0000, halves of surrogate pairs, duplicate names and
/// invalid UTF-8.
///
/// Most are well-formed, so that requests with them can be accepted. About one in 300 has up to 80 KB; all others are
/// small.
public struct HostileDocuments: Sendable {
    /// The random source of the next document.
    public var random: SplitMix64

    /// A sequence that depends only on the seed.
    public init(seed: UInt64) { random = SplitMix64(seed: seed) }

    /// Any text: usually a JSON value with an object at the top, sometimes not JSON at all.
    public mutating func next() -> [UInt8] {
        switch below(16) {
        case 0: return scalar()
        case 1: return array(depth: depth())
        case 2: return broken(object(depth: depth()))
        case 3: return (0..<below(40)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        default: return nextObject()
        }
    }

    /// A document with an object at the top. One in eight is malformed deeper down.
    public mutating func nextObject() -> [UInt8] {
        below(12) == 0 ? nested(depth: pick(Self.depths) - 1, object: true) : object(depth: depth())
    }

    /// The bytes of a header field's value: never CR, LF or U+0000, so that any client can send it.
    public mutating func nextHeaderValue() -> [UInt8] {
        let value: [UInt8]
        switch below(8) {
        case 0, 1, 2: value = Array(pick(Self.headerValues).utf8)
        case 3: value = Array(pick(Self.numbers).utf8)
        case 4: value = Array(pick(Self.instants).utf8)
        case 5: value = (0..<below(24)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        case 6: value = Array(repeating: UInt8(ascii: "a"), count: pick([127, 128, 129, 255, 256, 1024, 4096]))
        default: value = Array("\(identifierish()) \(identifierish())".utf8)
        }
        return value.filter { $0 != 0x0D && $0 != 0x0A && $0 != 0 }
    }

    /// Returns a document with the form of another, and with up to two hostile values. Only close validation can refuse
    /// these.
    public mutating func nextBody(like template: JSON) -> [UInt8] {
        var places: Set<Int> = []
        for _ in 0..<pick([0, 1, 1, 1, 1, 2]) { places.insert(below(max(1, template.places))) }
        var place = 0
        let body = rendered(template, places, &place)
        return below(40) == 0 ? broken(body) : body
    }

    /// A number below a bound.
    public mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    /// Returns one of several.
    public mutating func pick<T>(_ choices: [T]) -> T { choices[below(choices.count)] }
}

extension HostileDocuments {
    private mutating func rendered(_ json: JSON, _ places: Set<Int>, _ place: inout Int) -> [UInt8] {
        let isHostile = places.contains(place)
        place += 1
        switch json {
        case .array(let items):
            let written = items.map { rendered($0, places, &place) }
            guard isHostile else { return Self.list(written) }
            switch below(5) {
            case 0: return Self.list([])
            case 1: return Self.list(written + written)
            case 2: return Self.list(written + [value(depth: 3)])
            case 3: return Self.list((0..<pick([33, 65, 129, 257])).map { written.first ?? Array("\($0)".utf8) })
            default: return value(depth: 3)
            }
        case .object(let members):
            var written: [[UInt8]] = []
            for member in members {
                written.append(Self.quoted(member.name) + [0x3A] + rendered(member.value, places, &place))
            }
            guard isHostile else { return Self.braced(written) }
            switch below(6) {
            case 0: if !written.isEmpty { written.remove(at: below(written.count)) }
            case 1: if let first = written.first { written.append(first) }
            case 2: return value(depth: 3)
            default: written.insert(member(depth: depth()), at: below(written.count + 1))
            }
            return Self.braced(written)
        default:
            guard isHostile else { return json.bytes }
            return below(2) == 0 ? value(depth: below(3)) : like(json)
        }
    }

    /// A hostile value of the same kind as another.
    private mutating func like(_ json: JSON) -> [UInt8] {
        switch json {
        case .int, .double: number()
        case .string: below(3) == 0 ? Self.quoted(pick(Self.instants)) : string()
        default: value(depth: 2)
        }
    }
}

extension JSON {
    /// The number of its values, itself included.
    fileprivate var places: Int {
        switch self {
        case .array(let items): items.reduce(1) { $0 + $1.places }
        case .object(let members): members.reduce(1) { $0 + $1.value.places }
        default: 1
        }
    }
}
