/// What a `Range` header asks for of so many bytes (RFC 9110 section 14).
enum ByteRanges: Equatable {
    /// No range that can be understood, or a wasteful lot of them: the whole is sent.
    case whole
    case unsatisfiable
    /// In the order in which they were asked for; at least one.
    case some([Range<Int>])

    /// A request for more pieces than this gets the whole (section 14.2 lets a server defend itself so).
    static let limit = 16

    init(header: String?, size: Int) {
        guard let header, let equals = header.firstIndex(of: "="), header[..<equals].lowercased() == "bytes" else {
            self = .whole
            return
        }
        var ranges: [Range<Int>] = []
        var count = 0
        for spec in header[header.index(after: equals)...].split(separator: ",", omittingEmptySubsequences: false) {
            // Empty list elements are to be passed over (section 5.6.1.2).
            let spec = Self.trimmed(spec)
            if spec.isEmpty { continue }
            count += 1
            guard let asked = Self.parse(spec, size) else {
                self = .whole
                return
            }
            if !asked.isEmpty { ranges.append(asked) }
        }
        // Pieces that together are more than the whole overlap: the whole costs less.
        guard count > 0, count <= Self.limit, ranges.count == 1 || ranges.reduce(0, { $0 + $1.count }) <= size else {
            self = .whole
            return
        }
        self = ranges.isEmpty ? .unsatisfiable : .some(ranges)
    }

    /// One range, cut to the size; empty where it lies behind the end, nil where it is not lawful.
    private static func parse(_ spec: Substring, _ size: Int) -> Range<Int>? {
        guard let dash = spec.firstIndex(of: "-") else { return nil }
        let first = spec[..<dash]
        let last = spec[spec.index(after: dash)...]
        if first.isEmpty {
            guard let length = number(last) else { return nil }
            return max(0, size - min(length, size))..<size
        }
        guard let start = number(first) else { return nil }
        guard !last.isEmpty else { return min(start, size)..<size }
        guard let end = number(last), start <= end else { return nil }
        guard start < size else { return size..<size }
        return start..<(min(end, size - 1) + 1)
    }

    /// Digits only; what is too large for a number is as large as can be.
    private static func number(_ text: Substring) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text) ?? Int.max
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while text.first == " " || text.first == "\t" { text = text.dropFirst() }
        while text.last == " " || text.last == "\t" { text = text.dropLast() }
        return text
    }
}
