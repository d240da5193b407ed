import HTTPTypes
import ServiceKit
import Timeline

/// The header fields by which a request depends on what is there, as they were sent (RFC 9110 sections 13 and 14.2).
struct Conditions {
    var ifMatch: String?
    var ifUnmodifiedSince: String?
    var ifNoneMatch: String?
    var ifModifiedSince: String?
    var ifRange: String?
    var range: String?

    init() {}

    init(_ headers: HTTPFields) {
        ifMatch = headers[.ifMatch]
        ifUnmodifiedSince = headers[.ifUnmodifiedSince]
        ifNoneMatch = headers[.ifNoneMatch]
        ifModifiedSince = headers[.ifModifiedSince]
        ifRange = headers[.ifRange]
        range = headers[.range]
    }

    /// By what one state of a file is known.
    struct Validators {
        /// Strong.
        var etag: String
        /// Whole seconds. Strong too: no two states of a path have the same. Nil where it is not known: then no date
        /// says anything.
        var modifiedAt: Instant?

        init(etag: String, modifiedAt: Instant?) { (self.etag, self.modifiedAt) = (etag, modifiedAt) }
        init(_ content: StoredContent) { self.init(etag: content.etag, modifiedAt: content.modifiedAt) }
    }

    enum Verdict { case holds, notModified, failed }

    /// The preconditions in their order (section 13.2.2).
    ///
    /// - Parameters:
    ///   - current: what is there; nil where nothing is.
    ///   - isReading: a GET or HEAD, which is not refused for what the client knows already.
    func verdict(on current: Validators?, isReading: Bool, now: Instant) -> Verdict {
        if let ifMatch {
            guard let current, EntityTags(ifMatch).matchStrongly(current.etag) else { return .failed }
        } else if let modifiedAt = current?.modifiedAt, let date = date(ifUnmodifiedSince, now), modifiedAt > date {
            return .failed
        }
        if let ifNoneMatch {
            guard let current, EntityTags(ifNoneMatch).matchWeakly(current.etag) else { return .holds }
            return isReading ? .notModified : .failed
        }
        if isReading, let modifiedAt = current?.modifiedAt, let date = date(ifModifiedSince, now), modifiedAt <= date {
            return .notModified
        }
        return .holds
    }

    /// Holds a request that changes something to its preconditions.
    ///
    /// - Throws: `precondition_failed`.
    func require(of current: StoredContent?, now: Instant) throws(Problem) {
        let verdict = verdict(on: current.map { Validators($0) }, isReading: false, now: now)
        guard verdict == .holds else { throw .contentChanged }
    }

    /// Whether `Range` still speaks of what is there (section 13.1.5): tags are compared strongly, and a date must be the very
    /// one. Without `If-Range` it does.
    func isOfSameState(as current: Validators, now: Instant) -> Bool {
        guard let ifRange, ifRange != current.etag else { return true }
        guard let modifiedAt = current.modifiedAt else { return false }
        return date(ifRange, now) == modifiedAt
    }

    private func date(_ text: String?, _ now: Instant) -> Instant? { text.flatMap { HTTPDate.instant($0, now: now) } }
}
