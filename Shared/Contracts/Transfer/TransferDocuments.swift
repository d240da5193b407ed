public import OrderedCollections
public import Records
public import Timeline

/// `URLSessionConfiguration.background(withIdentifier:)`: its members by their names, with Apple's defaults.
public struct SessionConfiguration: Record, Equatable {
    /// Tasks wait for Wi-Fi and power.
    public var isDiscretionary = false
    public var allowsCellularAccess = true
    public var allowsExpensiveNetworkAccess = true
    public var allowsConstrainedNetworkAccess = true
    /// Whether the app is woken when all tasks have finished.
    public var sessionSendsLaunchEvents = true
    /// How long nothing may arrive before the daemon tries again, in real seconds.
    public var timeoutIntervalForRequest = Interval.seconds(60)
    /// How long a task may take in all.
    public var timeoutIntervalForResource = Interval.days(7)
    public var httpMaximumConnectionsPerHost = 6
    public var httpAdditionalHeaders: OrderedDictionary<String, String> = [:]

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.defaulted("allowsCellularAccess", &allowsCellularAccess)
        fields.defaulted("allowsConstrainedNetworkAccess", &allowsConstrainedNetworkAccess)
        fields.defaulted("allowsExpensiveNetworkAccess", &allowsExpensiveNetworkAccess)
        fields.defaulted("httpAdditionalHeaders", &httpAdditionalHeaders, .requestHeaders)
        fields.defaulted("httpMaximumConnectionsPerHost", &httpMaximumConnectionsPerHost, .range(1...64))
        fields.defaulted("isDiscretionary", &isDiscretionary)
        fields.defaulted("sessionSendsLaunchEvents", &sessionSendsLaunchEvents)
        fields.defaulted("timeoutIntervalForRequest", &timeoutIntervalForRequest, .span(.seconds(1)...hours24))
        fields.defaulted("timeoutIntervalForResource", &timeoutIntervalForResource, .span(.seconds(1)...days30))
    }
}

private let hours24 = Interval.hours(24)
private let days30 = Interval.days(30)

/// What a download task is created from.
public struct DownloadRequest: Record, Equatable {
    /// http or https.
    public var url = ""
    public var headers: OrderedDictionary<String, String> = [:]
    public var earliestBeginDate: Instant?
    /// From 0 to 1; the higher goes first.
    public var priority = 0.5

    public init() {}

    public init(url: String) { self.url = url }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.visit(
            "earliestBeginDate", &earliestBeginDate, .omittable,
            Rule("must be in the years 1970 to 9999") { $0.map { Instant.documented.contains($0) } ?? true })
        fields.defaulted("headers", &headers, .requestHeaders)
        fields.defaulted("priority", &priority, .range(0...1))
        fields.field("url", &url, .text(1...2048))
    }
}

/// What matters of a server's answer.
public struct ResponseHead: Record, Equatable {
    /// Of HTTP.
    public var status = 0
    /// As sent, with its quotes.
    public var etag: String?
    public var lastModified: String?
    public var contentType: String?
    /// `Accept-Ranges: bytes`, or a 206.
    public var acceptsRanges = false
    /// Of the body that follows; nil where it is not known.
    public var contentLength: Int?
    /// Of `Content-Range`.
    public var rangeStart: Int?
    /// The size of the whole, where the server told it.
    public var completeLength: Int?

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("acceptsRanges", &acceptsRanges)
        fields.omittable("completeLength", &completeLength)
        fields.omittable("contentLength", &contentLength)
        fields.omittable("contentType", &contentType)
        fields.omittable("etag", &etag)
        fields.omittable("lastModified", &lastModified)
        fields.omittable("rangeStart", &rangeStart)
        fields.field("status", &status)
    }
}

/// An `NSError` of the URL loading system.
public struct TransferFailure: Record, Equatable {
    public static let domain = "NSURLErrorDomain"

    public var code = 0
    public var domain = TransferFailure.domain
    /// `NSURLErrorBackgroundTaskCancelledReasonKey`: 0 the user ended the app.
    public var reason: Int?

    public init() {}

    public init(code: Int, reason: Int? = nil) {
        self.code = code
        self.reason = reason
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("code", &code)
        fields.field("domain", &domain)
        fields.omittable("reason", &reason)
    }

    /// NSURLError.h.
    public static let cancelled = TransferFailure(code: -999)
    public static let cancelledByForceQuit = TransferFailure(code: -999, reason: 0)
    public static let timedOut = TransferFailure(code: -1001)
    public static let cannotFindHost = TransferFailure(code: -1003)
    public static let cannotConnectToHost = TransferFailure(code: -1004)
    public static let httpTooManyRedirects = TransferFailure(code: -1007)
    public static let cannotWriteToFile = TransferFailure(code: -3003)
}

extension Rule where T == Interval {
    fileprivate static func span(_ range: ClosedRange<Interval>) -> Rule<Interval> {
        Rule(
            "must be from \(range.lowerBound.seconds) to \(range.upperBound.seconds) seconds",
            keywords: [
                ("minimum", .double(range.lowerBound.seconds)), ("maximum", .double(range.upperBound.seconds)),
            ]
        ) { range.contains($0) }
    }
}

extension Rule where T == OrderedDictionary<String, String> {
    /// At most 32 fields of 4 KiB together, none of those that the daemon sets itself.
    fileprivate static var requestHeaders: Rule<OrderedDictionary<String, String>> {
        Rule(
            "must have at most 32 header fields of 4096 bytes together, with lawful names and values, "
                + "and none that the transfer sets itself"
        ) { headers in
            headers.count <= 32 && headers.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count } <= 4096
                && headers.allSatisfy { isFieldName($0.key) && isFieldValue($0.value) }
        }
    }
}

/// A token of RFC 9110 section 5.6.2 that a caller may set.
private func isFieldName(_ name: String) -> Bool {
    let own = [
        "accept-encoding", "connection", "content-length", "expect", "host", "if-range", "keep-alive", "range", "te",
        "trailer", "transfer-encoding", "upgrade",
    ]
    let tokens = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8
    return !name.isEmpty && name.utf8.allSatisfy { tokens.contains($0) } && !own.contains(name.lowercased())
}

private func isFieldValue(_ value: String) -> Bool {
    value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
}
