import Timeline

/// How a GET or HEAD of a content is answered: the preconditions of RFC 9110 section 13.2.2 in their order, then the ranges.
enum ContentAnswer: Equatable {
    case preconditionFailed
    case notModified
    case unsatisfiable
    case whole
    case ranges([Range<Int>])

    /// The header fields that decide, as they were sent.
    struct Conditions {
        var ifMatch: String?
        var ifUnmodifiedSince: String?
        var ifNoneMatch: String?
        var ifModifiedSince: String?
        var ifRange: String?
        var range: String?
    }

    /// - Parameter isHead: `Range` means nothing to HEAD (section 14.2).
    init(_ conditions: Conditions, etag: String, modifiedAt: Instant, size: Int, isHead: Bool) {
        if let wanted = conditions.ifMatch {
            guard Self.lists(wanted, etag, weakly: false) else {
                self = .preconditionFailed
                return
            }
        } else if let date = conditions.ifUnmodifiedSince.flatMap({ HTTPDate.instant($0) }), modifiedAt > date {
            self = .preconditionFailed
            return
        }
        if let known = conditions.ifNoneMatch {
            guard !Self.lists(known, etag, weakly: true) else {
                self = .notModified
                return
            }
        } else if let date = conditions.ifModifiedSince.flatMap({ HTTPDate.instant($0) }), modifiedAt <= date {
            self = .notModified
            return
        }
        // If-Range compares strongly, and a date must be the very one.
        let isSame = conditions.ifRange.map { $0 == etag || $0 == HTTPDate.text(modifiedAt) } ?? true
        guard !isHead, isSame else {
            self = .whole
            return
        }
        switch ByteRanges(header: conditions.range, size: size) {
        case .whole: self = .whole
        case .unsatisfiable: self = .unsatisfiable
        case .some(let ranges): self = .ranges(ranges)
        }
    }

    private static func lists(_ header: String, _ etag: String, weakly: Bool) -> Bool {
        header.split(separator: ",").contains { item in
            let tag = item.filter { $0 != " " && $0 != "\t" }
            return tag == "*" || tag == etag || weakly && tag == "W/" + etag
        }
    }
}
