public import HTTPTypes
public import Records

/// An error for the client: RFC 9457 `application/problem+json`.
///
/// Handlers and middlewares throw it. ``ProblemMiddleware`` renders it once.
public struct Problem: Error, Sendable, Equatable, CustomStringConvertible {
    public var status: HTTPResponse.Status
    /// The stable name of the problem, for programs.
    public var code: String
    /// A few words for people, the same for every occurrence.
    public var title: String
    /// The cause of this occurrence. Clients may see it.
    public var detail: String?
    /// The faults of the document or query, each with its location.
    public var faults: [FieldError]
    /// Seconds until a retry may succeed; sent as `Retry-After`.
    public var retryAfter: Int?
    /// The trace id of the request's log lines; set if the service itself failed.
    public var trace: String?
    /// Further headers of the answer.
    public var headers: HTTPFields

    public init(
        _ status: HTTPResponse.Status, _ code: String, _ title: String, detail: String? = nil,
        faults: [FieldError] = [],
        retryAfter: Int? = nil, headers: HTTPFields = [:]
    ) {
        self.status = status
        self.code = code
        self.title = title
        self.detail = detail
        self.faults = faults
        self.retryAfter = retryAfter
        self.headers = headers
    }

    /// Returns the same problem with the cause of this occurrence.
    public func with(detail: String, faults: [FieldError] = []) -> Problem {
        var problem = self
        problem.detail = detail
        problem.faults = faults
        return problem
    }

    /// Returns the same problem with the faults of the request: the first in the detail, all in the list.
    public func with(fieldErrors faults: [FieldError]) -> Problem {
        guard let first = faults.first else { return self }
        // The pointer into a query is the name of a parameter.
        let location = status == .badRequest ? first.pointer.dropFirst() : first.pointer[...]
        let words = location.isEmpty ? first.detail : "\(location) \(first.detail)"
        let rest = faults.count - 1
        return with(
            detail: rest == 0 ? words : "\(words); and \(rest) more \(rest == 1 ? "error" : "errors")", faults: faults)
    }

    public var description: String { "\(status.code) \(code): \(detail ?? title)" }

    /// The body of the answer.
    public var json: JSON {
        var members = [
            JSON.Member("type", .string("urn:dormouse:problem:\(code)")), JSON.Member("title", .string(title)),
            JSON.Member("status", .int(status.code)), JSON.Member("code", .string(code)),
        ]
        if let detail { members.append(JSON.Member("detail", .string(detail))) }
        if let trace { members.append(JSON.Member("trace", .string(trace))) }
        if !faults.isEmpty {
            let items = faults.map { JSON.object(["pointer": .string($0.pointer), "detail": .string($0.detail)]) }
            members.append(JSON.Member("errors", .array(items)))
        }
        return .object(members)
    }
}
