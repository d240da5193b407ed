/// A reading position in the code of a source file.
struct Cursor {
    private let source: SourceText
    private let end: Int
    private(set) var offset: Int

    init(_ source: SourceText, _ range: Range<Int>) {
        self.source = source
        offset = range.lowerBound
        end = range.upperBound
    }

    private var byte: UInt8? { offset < end ? source.code[offset] : nil }

    /// Moves to the next token. Returns its offset; nil at the end.
    mutating func skipSpace() -> Int? {
        while let byte, byte == 0x20 || byte == 0x0A || byte == UInt8(ascii: ";") { offset += 1 }
        return offset < end ? offset : nil
    }

    private mutating func skipSpaceInLine() { while byte == 0x20 { offset += 1 } }

    /// Reads attributes and modifiers, such as `@usableFromInline public static`.
    mutating func modifiers() -> Set<String> {
        var found: Set<String> = []
        while true {
            let start = offset
            if byte == UInt8(ascii: "@") {
                offset += 1
                _ = word()
                brackets()
            } else {
                let word = word()
                guard Self.modifierWords.contains(word) else {
                    offset = start
                    return found
                }
                found.insert(byte == UInt8(ascii: "(") ? "\(word)(set)" : word)
                brackets()
            }
            _ = skipSpace()
        }
    }

    private static let modifierWords: Set<String> = [
        "public", "package", "internal", "fileprivate", "private", "static", "final", "indirect", "mutating",
        "nonmutating", "nonisolated", "override", "lazy", "weak", "borrowing", "consuming",
    ]

    /// Reads an identifier or a keyword and the spaces after it. Returns an empty text if there is none.
    mutating func word() -> String {
        let start = offset
        while let byte, Self.isIdentifier(byte) { offset += 1 }
        defer { skipSpaceInLine() }
        return source.string(start..<offset)
    }

    /// Reads the name of a type, with dots.
    mutating func typeName() -> String {
        let start = offset
        while let byte, Self.isIdentifier(byte) || byte == UInt8(ascii: ".") { offset += 1 }
        return source.string(start..<offset)
    }

    private static func isIdentifier(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "_") || byte == UInt8(ascii: "`") || byte >= 0x80 || (0x30...0x39).contains(byte)
            || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }

    /// Reads the text up to the next brace.
    mutating func untilBrace() -> String {
        let start = offset
        while let byte, byte != UInt8(ascii: "{") { offset += 1 }
        return source.string(start..<offset).split { $0 == " " || $0 == "\n" }.joined(separator: " ")
    }

    /// Reads a pair of braces that follows on this line. Returns the range between them; nil if there is none.
    mutating func braces() -> Range<Int>? {
        skipSpaceInLine()
        guard byte == UInt8(ascii: "{") else { return nil }
        let start = offset
        brackets()
        return start + 1..<max(start + 1, offset - 1)
    }

    /// Moves over a pair of brackets that begins here.
    private mutating func brackets() {
        var depth = 0
        while let byte {
            if "([{".utf8.contains(byte) { depth += 1 }
            if ")]}".utf8.contains(byte) { depth -= 1 }
            if depth == 0 && !")]}".utf8.contains(byte) { return }
            offset += 1
            if depth == 0 { return }
        }
    }

    /// Reads the text after `mark`, up to one of `ends` outside of brackets. The text may begin on the next line.
    /// Returns nil if the next character is not `mark`.
    mutating func take(_ mark: Character, until ends: Set<Character>) -> String? {
        skipSpaceInLine()
        guard byte == mark.asciiValue else { return nil }
        offset += 1
        _ = skipSpace()
        let start = offset
        while let byte, !ends.contains(Character(Unicode.Scalar(byte))) || continues {
            if "([{".utf8.contains(byte) { brackets() } else { offset += 1 }
        }
        // A comment after the text is blank in the code.
        let last = source.code[start..<offset].lastIndex { $0 != 0x20 && $0 != 0x0A } ?? start
        return source.string(start..<min(last + 1, offset))
    }

    /// Whether the expression continues after the line break at `offset`, because the next line begins with a dot or an
    /// operator.
    private var continues: Bool {
        guard byte == 0x0A else { return false }
        let rest = source.code[offset..<end].drop { $0 == 0x20 || $0 == 0x0A }
        return rest.first.map { ".?+-*&|".utf8.contains($0) } ?? false
    }

    /// Moves to the end of the line. Returns its offset.
    @discardableResult
    mutating func skipLine() -> Int {
        while let byte, byte != 0x0A { if "([{".utf8.contains(byte) { brackets() } else { offset += 1 } }
        return offset
    }

    /// Moves over a function, an initializer or another declaration with an optional body.
    mutating func skipDeclaration() {
        while let byte {
            if byte == UInt8(ascii: "{") { return brackets() }
            if "([".utf8.contains(byte) {
                brackets()
            } else if byte == 0x0A, !signatureContinues {
                return
            } else {
                offset += 1
            }
        }
    }

    private var signatureContinues: Bool {
        let rest = source.code[offset..<end].drop { $0 == 0x20 || $0 == 0x0A }
        return rest.first == UInt8(ascii: "{") || rest.starts(with: "->".utf8) || rest.starts(with: "where ".utf8)
    }

    /// Reads `name(Type)` of a case; nil for a case without an associated value.
    mutating func associatedCase() -> String? {
        let name = word()
        defer { skipLine() }
        return byte == UInt8(ascii: "(") ? name : nil
    }
}
