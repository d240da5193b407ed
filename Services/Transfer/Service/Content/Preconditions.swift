import HTTPKit
import HTTPTypes
import Timeline

/// The precondition and range headers of a request (RFC 9110 sections 13 and 14.2).
struct Preconditions {
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

    /// The validators of one state of a file.
    struct Validators {
        /// Strong.
        var etag: String
        /// In whole seconds. Strong, because two states of a path never have the same. Nil if unknown: then the service
        /// ignores preconditions with dates.
        var modifiedAt: Instant?

        init(etag: String, modifiedAt: Instant?) { (self.etag, self.modifiedAt) = (etag, modifiedAt) }
        init(_ content: StoredContent) { self.init(etag: content.etag, modifiedAt: content.modifiedAt) }
    }

    enum PreconditionResult { case holds, notModified, failed }

    /// Evaluates the preconditions in their order (section 13.2.2).
    ///
    /// - Parameters:
    ///   - current: the validators of the current file; nil if there is none.
    ///   - isReading: whether the method is GET or HEAD, which can get 304.
    func verdict(on current: Validators?, isReading: Bool, now: Instant) -> PreconditionResult {
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

    /// Checks the preconditions of a PUT or DELETE.
    ///
    /// - Throws: `precondition_failed`.
    func require(of current: StoredContent?, now: Instant) throws(Problem) {
        let verdict = verdict(on: current.map { Validators($0) }, isReading: false, now: now)
        guard verdict == .holds else { throw .contentChanged }
    }

    /// Whether `Range` applies to the current file (section 13.1.5). `If-Range` needs the same strong tag or the exact
    /// date. Without `If-Range`, `Range` applies.
    func isOfSameState(as current: Validators, now: Instant) -> Bool {
        guard let ifRange, ifRange != current.etag else { return true }
        guard let modifiedAt = current.modifiedAt else { return false }
        return date(ifRange, now) == modifiedAt
    }

    private func date(_ text: String?, _ now: Instant) -> Instant? { text.flatMap { HTTPDate.instant($0, now: now) } }
}
