import Timeline

/// The kind of answer to a GET or HEAD: first the preconditions, then the ranges (RFC 9110 section 13.2.2).
enum ContentAnswer: Equatable {
    case preconditionFailed
    case notModified
    case unsatisfiable
    case whole
    /// The ranges of ``ByteRanges/some(_:)``.
    case ranges([Range<Int>])

    /// - Parameter isHead: HEAD ignores `Range` (section 14.2).
    init(_ conditions: Preconditions, on current: Preconditions.Validators, size: Int, isHead: Bool, now: Instant) {
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
