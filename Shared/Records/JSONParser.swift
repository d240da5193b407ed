/// A syntax error of a JSON text.
public struct JSONSyntaxError: Error, Sendable, Equatable, CustomStringConvertible {
    public let reason: String
    /// The offset in bytes from the start of the text.
    public let offset: Int

    public var description: String { "not valid JSON: \(reason) at byte \(offset)" }
}

extension JSON {
    /// Parses a JSON text strictly by RFC 8259: UTF-8 without byte-order mark, no duplicate member names, no text
    /// after the value. Rejects U+0000, because PostgreSQL can't store it.
    ///
    /// - Parameter depth: the greatest allowed nesting of arrays and objects.
    public init(parsing text: some Collection<UInt8>, depth: Int = storedDepth) throws(JSONSyntaxError) {
        var parser = JSONParser(bytes: Array(text), depth: depth)
        self = try parser.document()
    }

    /// Parses a document from a client, with at most ``receivedDepth`` levels. Documents of the suite that contain it
    /// stay within ``storedDepth``.
    public init(received text: some Collection<UInt8>) throws(JSONSyntaxError) {
        try self.init(parsing: text, depth: Self.receivedDepth)
    }

    /// The greatest nesting of a document from a client.
    public static let receivedDepth = 24
    /// The greatest nesting of the suite's own documents. Events, states and responses contain documents from clients.
    public static let storedDepth = 64
}

private struct JSONParser {
    let bytes: [UInt8]
    let depth: Int
    var position = 0

    mutating func document() throws(JSONSyntaxError) -> JSON {
        let json = try value(nesting: 0)
        skipSpace()
        guard position == bytes.count else { throw error("text after the end of the value") }
        return json
    }

    private func error(_ reason: String) -> JSONSyntaxError { JSONSyntaxError(reason: reason, offset: position) }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func value(nesting: Int) throws(JSONSyntaxError) -> JSON {
        skipSpace()
        switch current {
        case UInt8(ascii: "{"): return try object(nesting: nesting + 1)
        case UInt8(ascii: "["): return try array(nesting: nesting + 1)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case nil: throw error("unexpected end of the text")
        default: return try number()
        }
    }

    private mutating func word(_ word: StaticString, _ json: JSON) throws(JSONSyntaxError) -> JSON {
        let end = position + word.utf8CodeUnitCount
        let matches = word.withUTF8Buffer { end <= bytes.count && bytes[position..<end].elementsEqual($0) }
        guard matches else { throw error("unknown literal") }
        position = end
        return json
    }

    private mutating func object(nesting: Int) throws(JSONSyntaxError) -> JSON {
        guard nesting <= depth else { throw error("nested deeper than \(depth)") }
        position += 1
        var members: [JSON.Member] = []
        var names: Set<String> = []
        skipSpace()
        if current == UInt8(ascii: "}") {
            position += 1
            return .object(members)
        }
        while true {
            skipSpace()
            guard current == UInt8(ascii: "\"") else { throw error("expected a member name") }
            let name = try string()
            guard names.insert(name).inserted else { throw error("duplicate member name") }
            skipSpace()
            guard current == UInt8(ascii: ":") else { throw error("expected ':'") }
            position += 1
            members.append(JSON.Member(name, try value(nesting: nesting)))
            if try isLast(closedBy: UInt8(ascii: "}")) { return .object(members) }
        }
    }

    private mutating func array(nesting: Int) throws(JSONSyntaxError) -> JSON {
        guard nesting <= depth else { throw error("nested deeper than \(depth)") }
        position += 1
        var items: [JSON] = []
        skipSpace()
        if current == UInt8(ascii: "]") {
            position += 1
            return .array(items)
        }
        while true {
            items.append(try value(nesting: nesting))
            if try isLast(closedBy: UInt8(ascii: "]")) { return .array(items) }
        }
    }

    private mutating func isLast(closedBy end: UInt8) throws(JSONSyntaxError) -> Bool {
        skipSpace()
        guard let byte = current, byte == end || byte == UInt8(ascii: ",") else {
            throw error("expected ',' or '\(Character(UnicodeScalar(end)))'")
        }
        position += 1
        return byte == end
    }

    private mutating func string() throws(JSONSyntaxError) -> String {
        position += 1
        let start = position
        while let byte = current {
            if byte == UInt8(ascii: "\"") {
                let text = try decoded(bytes[start..<position])
                position += 1
                return text
            }
            if byte == UInt8(ascii: "\\") { return try escapedString(from: start) }
            guard byte >= 0x20 else { throw error("control character in a string") }
            position += 1
        }
        throw error("unterminated string")
    }

    private func decoded(_ slice: some Sequence<UInt8>) throws(JSONSyntaxError) -> String {
        guard let text = String(validating: slice, as: UTF8.self) else { throw error("invalid UTF-8") }
        return text
    }

    private mutating func escapedString(from start: Int) throws(JSONSyntaxError) -> String {
        var text = Array(bytes[start..<position])
        while let byte = current {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return try decoded(text)
            case UInt8(ascii: "\\"): text.append(contentsOf: Array(String(try escape()).utf8))
            case 0..<0x20: throw error("control character in a string")
            default: text.append(byte)
            }
        }
        throw error("unterminated string")
    }

    private mutating func escape() throws(JSONSyntaxError) -> UnicodeScalar {
        guard let byte = current else { throw error("unterminated string") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try unicodeEscape()
        default: throw error("unknown escape")
        }
    }

    private mutating func unicodeEscape() throws(JSONSyntaxError) -> UnicodeScalar {
        let first = try hexadecimal()
        guard first != 0 else { throw error("U+0000 is not allowed") }
        if let scalar = UnicodeScalar(first) { return scalar }
        guard (0xD800..<0xDC00).contains(first), position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
            bytes[position + 1] == UInt8(ascii: "u")
        else { throw error("unpaired surrogate") }
        position += 2
        let second = try hexadecimal()
        guard (0xDC00..<0xE000).contains(second),
            let scalar = UnicodeScalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw error("unpaired surrogate") }
        return scalar
    }

    private mutating func hexadecimal() throws(JSONSyntaxError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = current, let digit = Character(UnicodeScalar(byte)).hexDigitValue else {
                throw error("expected four hexadecimal digits")
            }
            value = value << 4 + UInt32(digit)
            position += 1
        }
        return value
    }

    private mutating func number() throws(JSONSyntaxError) -> JSON {
        let start = position
        var isInteger = true
        if current == UInt8(ascii: "-") { position += 1 }
        if current == UInt8(ascii: "0") { position += 1 } else { try digits() }
        if current == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            try digits()
        }
        if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
            isInteger = false
            position += 1
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { position += 1 }
            try digits()
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isInteger, let number = Int(text) { return .int(number) }
        guard let number = Double(text), number.isFinite else { throw error("number out of range") }
        // Drops the sign of -0, as the writer does. The decided value must equal the stored value.
        return .double(number == 0 ? 0 : number)
    }

    private mutating func digits() throws(JSONSyntaxError) {
        let start = position
        while let byte = current, (0x30...0x39).contains(byte) { position += 1 }
        guard position > start else { throw error("expected a value") }
    }
}
