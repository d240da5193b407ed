/// What a `Range` header asks for of so many bytes (RFC 9110 section 14).
enum ByteRanges: Equatable {
    /// No range that can be understood, or a wasteful lot of them: the whole is sent.
    case whole
    case unsatisfiable
    /// In the order in which they were asked for; at least one. No two overlap or touch.
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
            guard count <= Self.limit, let asked = Self.parse(spec, size) else {
                self = .whole
                return
            }
            if case .range(let range) = asked { Self.add(range, to: &ranges) }
            // The last bytes of nothing can be had, yet no Content-Range could name them.
            if asked == .suffixOfNothing {
                self = .whole
                return
            }
        }
        guard count > 0 else {
            self = .whole
            return
        }
        self = ranges.isEmpty ? .unsatisfiable : .some(ranges)
    }

    private enum Asked: Equatable {
        case range(Range<Int>)
        case behindTheEnd
        case suffixOfNothing
    }

    /// Joins a range with those that it overlaps or touches, at the place of the first of them (section 15.3.7.2): however often
    /// bytes are asked for, they are sent once.
    private static func add(_ range: Range<Int>, to ranges: inout [Range<Int>]) {
        var union = range
        var place: Int?
        for index in ranges.indices.reversed() {
            let other = ranges[index]
            guard other.lowerBound <= range.upperBound, range.lowerBound <= other.upperBound else { continue }
            union = min(union.lowerBound, other.lowerBound)..<max(union.upperBound, other.upperBound)
            ranges.remove(at: index)
            place = index
        }
        ranges.insert(union, at: place ?? ranges.endIndex)
    }

    /// One range, cut to the size; nil where it is not lawful.
    private static func parse(_ spec: Substring, _ size: Int) -> Asked? {
        guard let dash = spec.firstIndex(of: "-") else { return nil }
        let first = spec[..<dash]
        let last = spec[spec.index(after: dash)...]
        if first.isEmpty {
            guard let length = number(last) else { return nil }
            if length == 0 { return .behindTheEnd }
            return size == 0 ? .suffixOfNothing : .range(size - min(length, size)..<size)
        }
        guard let start = number(first) else { return nil }
        var end = Int.max
        if !last.isEmpty {
            guard let number = number(last), start <= number else { return nil }
            end = number
        }
        guard start < size else { return .behindTheEnd }
        return .range(start..<(min(end, size - 1) + 1))
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
