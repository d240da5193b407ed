public import OrderedCollections
public import Records
public import Timeline

/// The members of `URLSessionConfiguration.background(withIdentifier:)`, with Apple's defaults.
public struct SessionConfiguration: Record, Equatable {
    public var allowsCellularAccess: Defaulted<Bool> = true
    public var allowsConstrainedNetworkAccess: Defaulted<Bool> = true
    public var allowsExpensiveNetworkAccess: Defaulted<Bool> = true
    public var httpAdditionalHeaders: Defaulted<OrderedDictionary<String, String>> = [:]
    public var httpMaximumConnectionsPerHost: Defaulted<Int> = 6
    /// Whether the delegate of the session implements
    /// `urlSession(_:task:willBeginDelayedRequest:completionHandler:)`.
    public var handlesDelayedRequests: Defaulted<Bool> = false
    /// Whether tasks wait for Wi-Fi and power.
    public var isDiscretionary: Defaulted<Bool> = false
    /// Whether the app is woken when all tasks have finished.
    public var sessionSendsLaunchEvents: Defaulted<Bool> = true
    /// The container that an app extension shares with its app. A session of an app extension needs it.
    public var sharedContainerIdentifier: String?
    /// The time without received bytes after which the attempt is retried, in seconds of real time.
    public var timeoutIntervalForRequest: Defaulted<Interval> = Interval.seconds(60)
    /// The time limit of a task, in seconds.
    public var timeoutIntervalForResource: Defaulted<Interval> = Interval.days(7)

    enum Constraints {
        static let httpAdditionalHeaders: Constraint<OrderedDictionary<String, String>> = .requestHeaders
        static let httpMaximumConnectionsPerHost: Constraint<Int> = .range(1...64)
        static let sharedContainerIdentifier: Constraint<String> = Constraint(
            "must begin with \"group.\", and have 7 to 255 bytes without spaces"
        ) { identifier in
            identifier.hasPrefix("group.") && (7...255).contains(identifier.utf8.count)
                && identifier.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        }
        static let timeoutIntervalForRequest: Constraint<Interval> = .span(.seconds(1)...hours24)
        static let timeoutIntervalForResource: Constraint<Interval> = .span(.seconds(1)...days30)
    }
}

private let hours24 = Interval.hours(24)
private let days30 = Interval.days(30)

/// The `URLRequest` of a task and the task's options.
public struct TransferRequest: Record, Equatable {
    /// An upper bound in bytes. Of two discretionary tasks with the same priority the smaller one starts first.
    public var countOfBytesClientExpectsToReceive: Int?
    public var countOfBytesClientExpectsToSend: Int?
    public var earliestBeginDate: Instant?
    public var headers: Defaulted<OrderedDictionary<String, String>> = [:]
    /// The HTTP method. Only downloads with GET can be resumed.
    public var method: Defaulted<String> = "GET"
    /// The priority, from 0 to 1. Higher values go first.
    public var priority: Defaulted<Double> = 0.5
    /// The id of the fields `Authorization` and `Cookie`, which are stored beside the log; nil if the request has none.
    public var secretHeaders: String?
    /// An `http` or `https` URL.
    public var url: String

    /// Whether a header field must not enter the log: `Authorization` and `Cookie`.
    package static func isSecret(_ field: String) -> Bool {
        ["authorization", "cookie"].contains(field.lowercased())
    }
}

/// A part of an app's file: the first bytes of a file in storage.
public struct StoredPiece: Record, Equatable {
    /// The length in bytes. Later bytes of the stored file are not part of the piece.
    public var length: Int
    /// The name of the file in storage.
    public var name: String
}

/// A file of an app: a stored file to upload, or a claimed download.
public struct AppFile: Record, Equatable {
    public var contentType: String?
    public var pieces: [StoredPiece] = []
    /// The SHA-256 of the whole file, in hexadecimal; nil if it was never computed.
    public var sha256: String?

    /// The length in bytes.
    public var length: Int { pieces.reduce(0) { $0 + $1.length.heldToBytes } }
}

extension Int {
    /// The number limited to possible file lengths: 0 to 2^50 bytes.
    ///
    /// Events may contain any number. Sums of limited numbers don't overflow.
    package var heldToBytes: Int { Swift.min(Swift.max(0, self), 1 << 50) }
}

/// An authentication challenge of a server (`URLAuthenticationChallenge`).
public struct AuthenticationChallenge: Record, Equatable {
    public var authenticationMethod = AuthenticationMethod.basic
    /// For `serverTrust`: the SHA-256 of the server's certificate, in hexadecimal.
    public var fingerprint: String?
    public var host = ""
    public var isProxy: Defaulted<Bool> = false
    public var port = 0
    public var previousFailureCount: Defaulted<Int> = 0
    /// The HTTP realm.
    public var realm: String?

    /// Returns whether both challenges have one protection space (`URLProtectionSpace`).
    public func isOfSameSpace(as other: Self) -> Bool {
        (authenticationMethod, host, port, realm) == (other.authenticationMethod, other.host, other.port, other.realm)
            && isProxy == other.isProxy && fingerprint == other.fingerprint
    }
}

/// The status and the relevant header fields of a response.
public struct ResponseHead: Record, Equatable {
    /// Whether the response has `Accept-Ranges: bytes` or status 206.
    public var acceptsRanges = false
    /// The size of the whole resource in bytes; nil if the server did not send it.
    public var completeLength: Int?
    /// The length of the body in bytes; nil if unknown.
    public var contentLength: Int?
    public var contentType: String?
    /// The entity tag with its quotes.
    public var etag: String?
    public var lastModified: String?
    /// The first byte of `Content-Range`.
    public var rangeStart: Int?
    /// The HTTP status.
    public var status = 0
}

/// The head of an informational response. Its other fields are not kept.
public struct InformationalResponse: Record, Equatable {
    /// `Link`: the early hints of status 103; nil if the server did not send it.
    public var link: String?
    /// `Location`: the resource of an upload, of status 104; nil if the server did not send it.
    public var location: String?
    /// The HTTP status, from 100 to 199.
    public var status = 100

    public init(status: Int = 100, link: String? = nil, location: String? = nil) {
        self.link = link
        self.location = location
        self.status = status
    }
}

/// An `NSError` of the URL loading system.
public struct TransferFailure: Record, Equatable {
    /// The error domain of all transfer failures.
    public static let domain = "NSURLErrorDomain"

    public var code: Int
    /// The details that the code does not express.
    public var detail: String?
    public var domain: String = TransferFailure.domain
    /// `NSURLErrorBackgroundTaskCancelledReasonKey`: ``CancellationReason/number``.
    public var reason: Int?
    /// `NSURLSessionDownloadTaskResumeData` or `NSURLSessionUploadTaskResumeData`: the id of the partial transfer, for a
    /// resumption.
    public var resumeData: String?

    /// `NSURLErrorCancelled`. All codes are from `NSURLError.h`.
    public static let cancelled = TransferFailure(code: -999)
    /// Returns the failure of a task that the system cancelled.
    public static func cancelled(_ reason: CancellationReason) -> TransferFailure {
        TransferFailure(code: -999, reason: reason.number)
    }
    /// `NSURLErrorBackgroundSessionWasDisconnected`.
    public static let backgroundSessionWasDisconnected = TransferFailure(code: -997)
    public static let timedOut = TransferFailure(code: -1001)
    public static let cannotFindHost = TransferFailure(code: -1003)
    public static let cannotConnectToHost = TransferFailure(code: -1004)
    public static let httpTooManyRedirects = TransferFailure(code: -1007)
    public static let userCancelledAuthentication = TransferFailure(code: -1012)
    public static let userAuthenticationRequired = TransferFailure(code: -1013)
    public static let fileDoesNotExist = TransferFailure(code: -1100)
    public static let secureConnectionFailed = TransferFailure(code: -1200)
    public static let serverCertificateUntrusted = TransferFailure(code: -1202)
    public static let cannotWriteToFile = TransferFailure(code: -3003)
    /// `NSURLErrorCannotDecodeContentData`.
    public static let digestMismatch = TransferFailure(
        code: -1016, detail: "The received bytes do not match Repr-Digest.")
}

extension Constraint where T == Interval {
    fileprivate static func span(_ range: ClosedRange<Interval>) -> Constraint<Interval> {
        Constraint(
            "must be from \(range.lowerBound.seconds) to \(range.upperBound.seconds) seconds",
            keywords: [
                ("minimum", .double(range.lowerBound.seconds)), ("maximum", .double(range.upperBound.seconds)),
            ]
        ) { range.contains($0) }
    }
}

extension Constraint where T == OrderedDictionary<String, String> {
    /// The header fields of a session: at most 32 with 4 KiB in total. Fields that `transfer` sets itself are not
    /// allowed. Credentials are not allowed either, because the log keeps the fields.
    public static var requestHeaders: Constraint<OrderedDictionary<String, String>> {
        Constraint(
            "must have at most 32 header fields with 4096 bytes in total and valid names and values, without the fields "
                + "that the transfer sets itself and without Authorization, Proxy-Authorization and Cookie: "
                + "send Authorization and Cookie with the task"
        ) { headers in
            headers.allSatisfy { !TransferRequest.isSecret($0.key) } && areFields(headers) && length(headers) <= 4096
        }
    }

    /// The header fields of a task: as those of a session, and `Authorization` and `Cookie` with 8 KiB in total.
    public static var taskHeaders: Constraint<OrderedDictionary<String, String>> {
        Constraint(
            "must have at most 32 header fields with valid names and values, without Proxy-Authorization and the fields "
                + "that the transfer sets itself; Authorization and Cookie have at most 8192 bytes, the others 4096"
        ) { headers in
            areFields(headers) && length(headers.filter { TransferRequest.isSecret($0.key) }) <= 8192
                && length(headers.filter { !TransferRequest.isSecret($0.key) }) <= 4096
        }
    }
}

private func areFields(_ headers: OrderedDictionary<String, String>) -> Bool {
    headers.count <= 32 && headers.allSatisfy { isFieldName($0.key) && isFieldValue($0.value) }
}

/// The number of bytes of all names and values.
private func length(_ headers: OrderedDictionary<String, String>) -> Int {
    headers.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
}

/// Returns whether the name is a token (RFC 9110, section 5.6.2) that a client may set.
private func isFieldName(_ name: String) -> Bool {
    let own = [
        // A credential for a proxy is an answer to a challenge.
        "proxy-authorization",
        "accept-encoding", "connection", "content-length", "expect", "host", "if-range", "keep-alive", "range", "te",
        "trailer", "transfer-encoding", "upgrade",
    ]
    let tokens = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8
    return !name.isEmpty && name.utf8.allSatisfy { tokens.contains($0) } && !own.contains(name.lowercased())
}

private func isFieldValue(_ value: String) -> Bool {
    value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
}
