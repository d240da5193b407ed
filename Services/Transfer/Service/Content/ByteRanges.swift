/// The evaluation of a `Range` header (RFC 9110 section 14).
enum ByteRanges: Equatable {
    /// The whole file: no valid header, more than ``limit`` ranges, or a suffix of an empty file.
    case whole
    case unsatisfiable
    /// At least one range, in the order of the request. The ranges neither overlap nor touch.
    case some([Range<Int>])

    /// The largest number of ranges in a request (section 14.2 allows a server to ignore more).
    static let limit = 16

    init(header: String?, size: Int) {
        guard let header, let equals = header.firstIndex(of: "="), header[..<equals].lowercased() == "bytes" else {
            self = .whole
            return
        }
        var ranges: [Range<Int>] = []
        var count = 0
        for spec in header[header.index(after: equals)...].split(separator: ",", omittingEmptySubsequences: false) {
            // Recipients must skip empty list elements (section 5.6.1.2).
            let spec = Self.trimmed(spec)
            if spec.isEmpty { continue }
            count += 1
            guard count <= Self.limit, let asked = Self.parse(spec, size) else {
                self = .whole
                return
            }
            if case .range(let range) = asked { Self.add(range, to: &ranges) }
            // The last bytes of an empty file are satisfiable, but Content-Range can't express them.
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

    /// Merges a range with those that it overlaps or touches, at the index of the first of them (section 15.3.7.2).
    private static func add(_ range: Range<Int>, to ranges: inout [Range<Int>]) {
        var union = range
        var target: Int?
        for index in ranges.indices.reversed() {
            let other = ranges[index]
            guard other.lowerBound <= range.upperBound, range.lowerBound <= other.upperBound else { continue }
            union = min(union.lowerBound, other.lowerBound)..<max(union.upperBound, other.upperBound)
            ranges.remove(at: index)
            target = index
        }
        ranges.insert(union, at: target ?? ranges.endIndex)
    }

    /// Parses one range and clamps it to the size; nil if it is invalid.
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

    /// Parses digits; the maximum if the number is too large.
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
