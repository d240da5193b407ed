/// The text of a Swift source file, and its code with spaces in place of comments and contents of string literals.
///
/// Both have equal length, so an offset is valid in both. All brackets and keywords in `code` are
/// syntax.
struct SourceText {
    let text: [UInt8]
    private(set) var code: [UInt8]

    init(_ source: String) {
        text = Array(source.utf8)
        code = text
        var offset = 0
        while offset < text.count { offset = next(offset) }
    }

    func string(_ range: Range<Int>) -> String { String(decoding: text[range], as: UTF8.self) }

    /// The offset after the token or comment at `offset`.
    private mutating func next(_ offset: Int) -> Int {
        if has("//", offset) { return blank(offset..<(text[offset...].firstIndex(of: 0x0A) ?? text.count)) }
        if has("/*", offset) { return blank(offset..<endOfBlockComment(offset)) }
        var quote = offset
        while quote < text.count, text[quote] == UInt8(ascii: "#") { quote += 1 }
        guard quote < text.count, text[quote] == UInt8(ascii: "\"") else { return max(quote, offset + 1) }
        return endOfString(quote, pounds: quote - offset)
    }

    private func has(_ token: String, _ offset: Int) -> Bool { text[offset...].starts(with: token.utf8) }

    private mutating func blank(_ range: Range<Int>) -> Int {
        for index in range where code[index] != 0x0A { code[index] = UInt8(ascii: " ") }
        return range.upperBound
    }

    private func endOfBlockComment(_ start: Int) -> Int {
        var depth = 0
        var offset = start
        while offset < text.count {
            if has("/*", offset) {
                depth += 1
                offset += 2
            } else if has("*/", offset) {
                depth -= 1
                offset += 2
                if depth == 0 { return offset }
            } else {
                offset += 1
            }
        }
        return text.count
    }

    /// Blanks the contents of the literal whose quote is at `quote`, with its interpolations; returns the offset after it.
    private mutating func endOfString(_ quote: Int, pounds: Int) -> Int {
        let raw = String(repeating: "#", count: pounds)
        let delimiter = has("\"\"\"", quote) ? "\"\"\"" : "\""
        var offset = quote + delimiter.utf8.count
        while offset < text.count {
            if has(delimiter + raw, offset) { return offset + delimiter.utf8.count + pounds }
            if has("\\" + raw + "(", offset) {
                offset = blank(offset..<endOfInterpolation(offset + pounds + 2))
            } else if pounds == 0, text[offset] == UInt8(ascii: "\\") {
                offset = blank(offset..<min(offset + 2, text.count))
            } else {
                offset = blank(offset..<offset + 1)
            }
        }
        return text.count
    }

    private mutating func endOfInterpolation(_ start: Int) -> Int {
        var depth = 1
        var offset = start
        while offset < text.count {
            let after = next(offset)
            if after == offset + 1, text[offset] == UInt8(ascii: "(") { depth += 1 }
            if after == offset + 1, text[offset] == UInt8(ascii: ")") { depth -= 1 }
            offset = after
            if depth == 0 { break }
        }
        return offset
    }
}
