import Records

extension HostileDocuments {
    /// Most documents are flat.
    mutating func depth() -> Int { pick([0, 1, 1, 2, 2, 3, 5]) }

    mutating func value(depth: Int) -> [UInt8] {
        switch below(depth > 0 ? 10 : 6) {
        case 6, 7: object(depth: depth - 1)
        case 8: array(depth: depth - 1)
        case 9: below(8) == 0 ? nested(depth: pick(Self.depths), object: below(2) == 0) : array(depth: depth - 1)
        default: scalar()
        }
    }

    mutating func scalar() -> [UInt8] {
        switch below(8) {
        case 0: Array(pick(["null", "true", "false", "nul", "True", "undefined", ""]).utf8)
        case 1, 2, 3: number()
        default: string()
        }
    }

    mutating func number() -> [UInt8] {
        switch below(8) {
        case 0: Array("\(pick(["", "-"]))\(digits(pick([1, 15, 16, 17, 18, 19, 20, 40])))".utf8)
        case 1: Array("\(pick(["", "-"]))\(digits(1)).\(digits(pick([1, 17, 40])))e\(below(700) - 350)".utf8)
        case 2: Array(String(Int(truncatingIfNeeded: random.next()) >> below(64)).utf8)
        default: Array(pick(Self.numbers).utf8)
        }
    }

    /// Digits that do not begin with zero.
    private mutating func digits(_ count: Int) -> String {
        (0..<count).map { String($0 == 0 ? below(9) + 1 : below(10)) }.joined()
    }

    mutating func string() -> [UInt8] {
        switch below(10) {
        case 0: return quote(pick(Self.bytes))
        case 1: return Self.quoted(pick(Self.instants))
        case 2: return Self.quoted(identifierish())
        case 3: return quote((0..<below(12)).map { _ in UInt8(truncatingIfNeeded: random.next()) | 0x20 })
        case 4 where below(30) == 0:
            let unit = pick([["a"], ["é"], ["e\u{301}"], ["\u{202E}"], ["\\u0001"]])
            return quote(Array(repeatElement(unit[0], count: 65_536 / unit[0].utf8.count).joined().utf8))
        default: return quote(Array((pick(Self.escapes) + pick(["", "", "a", pick(Self.escapes)])).utf8))
        }
    }

    /// Texts that look like identifiers of devices and apps.
    mutating func identifierish() -> String {
        pick([
            "", ".", "..", "a", "A:B", "com.example.notes", String(repeating: "x", count: 128),
            String(repeating: "x", count: 129), "a/b", "a b", "é", "%00", "*", "-", "device:1",
        ])
    }

    mutating func object(depth: Int) -> [UInt8] {
        let isWide = below(200) == 0
        let count = isWide ? pick([100, 1000, 2500]) : below(5)
        var members = (0..<count).map { _ in member(depth: isWide ? 0 : depth) }
        if below(10) == 0, let twice = members.first { members.append(twice) }
        return Self.braced(members, space: below(10) == 0 ? " \r\n\t" : "")
    }

    mutating func member(depth: Int) -> [UInt8] {
        let name: [UInt8] =
            switch below(8) {
            case 0: string()
            case 1: Self.quoted("")
            case 2: Self.quoted(pick(["aps", "alert", "content-state", "event", "id", "é", "e\u{301}", "__proto__"]))
            default: Self.quoted("m\(below(1_000_000))")
            }
        return name + [0x3A] + value(depth: depth)
    }

    mutating func array(depth: Int) -> [UInt8] {
        guard below(200) != 0 else {
            let item = number()
            return Self.list(Array(repeating: item, count: pick([256, 1000, 4096])))
        }
        return Self.list((0..<below(5)).map { _ in value(depth: depth) })
    }

    /// A value inside a number of arrays or objects.
    mutating func nested(depth: Int, object: Bool) -> [UInt8] {
        let isMixed = below(3) == 0
        let inner = below(2) == 0 ? scalar() : Array((object ? "{}" : "[]").utf8)
        var opening: [UInt8] = []
        var closing: [UInt8] = []
        for level in 0..<max(depth, 1) {
            let isObject = isMixed && level > 0 ? level % 2 == 0 : object
            opening += Array((isObject ? #"{"a":"# : "[").utf8)
            closing.append(UInt8(ascii: isObject ? "}" : "]"))
        }
        return opening + inner + closing.reversed()
    }

    /// Text that is no longer JSON.
    mutating func broken(_ text: [UInt8]) -> [UInt8] {
        var text = text
        switch below(6) {
        case 0: return [0xEF, 0xBB, 0xBF] + text
        case 1: return text + Array(pick(["x", ",", "}", "\u{0}", "null"]).utf8)
        case 2: return Array(text.prefix(below(text.count + 1)))
        case 3: if !text.isEmpty { text[below(text.count)] = UInt8(truncatingIfNeeded: random.next()) }
        case 4: if !text.isEmpty { text.remove(at: below(text.count)) }
        default: text.insert(pick([0, 0x80, 0xC0, 0xFF, 0x0A, 0x22, 0x5C, 0x7B]), at: below(text.count + 1))
        }
        return text
    }

    private func quote(_ bytes: [UInt8]) -> [UInt8] { [0x22] + bytes + [0x22] }

    static func quoted(_ text: String) -> [UInt8] { JSON.string(text).bytes }

    static func list(_ items: [[UInt8]]) -> [UInt8] { [0x5B] + Array(items.joined(separator: [0x2C])) + [0x5D] }

    static func braced(_ members: [[UInt8]], space: String = "") -> [UInt8] {
        let space = Array(space.utf8)
        return [0x7B] + space + Array(members.joined(separator: [0x2C] + space)) + space + [0x7D]
    }
}
