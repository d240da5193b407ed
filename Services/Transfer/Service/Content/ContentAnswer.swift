import Timeline

/// How a GET or HEAD of a content is answered: preconditions first, then the ranges (RFC 9110 section 13.2.2).
enum ContentAnswer: Equatable {
    case preconditionFailed
    case notModified
    case unsatisfiable
    case whole
    /// One or several, as ``ByteRanges/some(_:)`` has them.
    case ranges([Range<Int>])

    /// - Parameter isHead: `Range` means nothing to HEAD (section 14.2).
    init(_ conditions: Conditions, on current: Conditions.Validators, size: Int, isHead: Bool, now: Instant) {
        switch conditions.verdict(on: current, isReading: true, now: now) {
        case .failed: self = .preconditionFailed
        case .notModified: self = .notModified
        case .holds where isHead || !conditions.isOfSameState(as: current, now: now): self = .whole
        case .holds:
            switch ByteRanges(header: conditions.range, size: size) {
            case .whole: self = .whole
            case .unsatisfiable: self = .unsatisfiable
            case .some(let ranges): self = .ranges(ranges)
            }
        }
    }
}
