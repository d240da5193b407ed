/// Splits a body into lines. It keeps at most one incomplete line.
struct LineSplitter {
    /// A line that is not blank.
    struct Line: Equatable {
        /// Its number in the body, from 1. Blank lines count.
        var number: Int
        /// Its bytes without the line feed; nil if it is too long.
        var bytes: [UInt8]?
    }

    /// The most bytes of a line.
    let limit: Int
    private var rest: [UInt8] = []
    private var isTooLong = false
    private var count = 0

    init(limit: Int) { self.limit = limit }

    /// Takes the next bytes of the body, and returns the lines that they complete.
    mutating func take(_ bytes: some Collection<UInt8>) -> [Line] {
        var lines: [Line] = []
        var start = bytes.startIndex
        while let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) {
            append(bytes[start..<end])
            if let line = complete() { lines.append(line) }
            start = bytes.index(after: end)
        }
        append(bytes[start...])
        return lines
    }

    /// Returns the last line, which needs no line feed.
    mutating func end() -> Line? { complete() }

    private mutating func append(_ bytes: some Collection<UInt8>) {
        guard !isTooLong else { return }
        guard rest.count + bytes.count <= limit else {
            (isTooLong, rest) = (true, [])
            return
        }
        rest += bytes
    }

    private mutating func complete() -> Line? {
        defer { (rest, isTooLong) = ([], false) }
        count += 1
        guard !isTooLong else { return Line(number: count, bytes: nil) }
        let isBlank = rest.allSatisfy {
            $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r")
        }
        return isBlank ? nil : Line(number: count, bytes: rest)
    }
}
