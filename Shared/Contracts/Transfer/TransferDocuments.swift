public import OrderedCollections
public import Records
public import Timeline

/// `URLSessionConfiguration.background(withIdentifier:)`: its members by their names, with Apple's defaults.
public struct SessionConfiguration: Record, Equatable {
    public var allowsCellularAccess: Defaulted<Bool> = true
    public var allowsConstrainedNetworkAccess: Defaulted<Bool> = true
    public var allowsExpensiveNetworkAccess: Defaulted<Bool> = true
    public var httpAdditionalHeaders: Defaulted<OrderedDictionary<String, String>> = [:]
    public var httpMaximumConnectionsPerHost: Defaulted<Int> = 6
    /// Tasks wait for Wi-Fi and power.
    public var isDiscretionary: Defaulted<Bool> = false
    /// Whether the app is woken when all tasks have finished.
    public var sessionSendsLaunchEvents: Defaulted<Bool> = true
    /// How long nothing may arrive before the daemon tries again, in real seconds.
    public var timeoutIntervalForRequest: Defaulted<Interval> = Interval.seconds(60)
    /// How long a task may take in all.
    public var timeoutIntervalForResource: Defaulted<Interval> = Interval.days(7)

    enum Constraints {
        static let httpAdditionalHeaders: Rule<OrderedDictionary<String, String>> = .requestHeaders
        static let httpMaximumConnectionsPerHost: Rule<Int> = .range(1...64)
        static let timeoutIntervalForRequest: Rule<Interval> = .span(.seconds(1)...hours24)
        static let timeoutIntervalForResource: Rule<Interval> = .span(.seconds(1)...days30)
    }
}

private let hours24 = Interval.hours(24)
private let days30 = Interval.days(30)

/// `URLRequest` and what else a task is created from.
public struct TransferRequest: Record, Equatable {
    /// In bytes; hints, as on the platform.
    public var countOfBytesClientExpectsToReceive: Int?
    public var countOfBytesClientExpectsToSend: Int?
    public var earliestBeginDate: Instant?
    public var headers: Defaulted<OrderedDictionary<String, String>> = [:]
    /// Of HTTP. Downloads that are to be resumed need GET.
    public var method: Defaulted<String> = "GET"
    /// From 0 to 1; the higher goes first.
    public var priority: Defaulted<Double> = 0.5
    /// http or https.
    public var url: String
}

/// A stretch of what an app has in files: from the beginning of one of the storage's.
public struct StoredPiece: Record, Equatable {
    /// In bytes; what lies behind them in storage does not count.
    public var length: Int
    /// Its name in storage.
    public var name: String
}

/// A file of an app: what it may upload, and what it claimed of what it has downloaded.
public struct AppFile: Record, Equatable {
    public var contentType: String?
    public var pieces: [StoredPiece] = []
    /// Of all the bytes, in hexadecimal; nil where nobody has looked at them as a whole.
    public var sha256: String?

    /// In bytes.
    public var length: Int { pieces.reduce(0) { $0 + $1.length.heldToBytes } }
}

extension Int {
    /// A count of bytes, or the next to it that a file can have: events may tell any number, and sums of these don't overflow.
    package var heldToBytes: Int { Swift.min(Swift.max(0, self), 1 << 50) }
}

/// What a server asks of an app (`URLAuthenticationChallenge`).
public struct AuthenticationChallenge: Record, Equatable {
    public var authenticationMethod = AuthenticationMethod.basic
    /// Of `serverTrust`: SHA-256 of the server's certificate, in hexadecimal.
    public var fingerprint: String?
    public var host = ""
    public var isProxy: Defaulted<Bool> = false
    public var port = 0
    public var previousFailureCount: Defaulted<Int> = 0
    /// Of HTTP.
    public var realm: String?

    /// Whether another is about the same protection space (`URLProtectionSpace`).
    public func isOfSameSpace(as other: Self) -> Bool {
        (authenticationMethod, host, port, realm) == (other.authenticationMethod, other.host, other.port, other.realm)
            && isProxy == other.isProxy && fingerprint == other.fingerprint
    }
}

/// What matters of a server's answer.
public struct ResponseHead: Record, Equatable {
    /// `Accept-Ranges: bytes`, or a 206.
    public var acceptsRanges = false
    /// The size of the whole, where the server told it.
    public var completeLength: Int?
    /// Of the body that follows; nil where it is not known.
    public var contentLength: Int?
    public var contentType: String?
    /// As sent, with its quotes.
    public var etag: String?
    public var lastModified: String?
    /// Of `Content-Range`.
    public var rangeStart: Int?
    /// Of HTTP.
    public var status = 0
}

/// An `NSError` of the URL loading system.
public struct TransferFailure: Record, Equatable {
    public static let domain = "NSURLErrorDomain"

    public var code: Int
    /// What exactly failed, where the code alone does not tell.
    public var detail: String?
    public var domain: String = TransferFailure.domain
    /// `NSURLErrorBackgroundTaskCancelledReasonKey`: 0 the user ended the app.
    public var reason: Int?
    /// `NSURLSessionDownloadTaskResumeData`: names what is there of a download that can go on from it.
    public var resumeData: String?

    /// NSURLError.h.
    public static let cancelled = TransferFailure(code: -999)
    public static let cancelledByForceQuit = TransferFailure(code: -999, reason: 0)
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
        code: -1016, detail: "The bytes that came are not those that Repr-Digest promises.")
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
    public static var requestHeaders: Rule<OrderedDictionary<String, String>> {
        Rule(
            "must have at most 32 header fields of 4096 bytes together, with lawful names and values, "
                + "and none that the transfer sets itself, nor Authorization, Proxy-Authorization, Cookie: "
                + "credentials are for challenges"
        ) { headers in
            headers.count <= 32 && headers.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count } <= 4096
                && headers.allSatisfy { isFieldName($0.key) && isFieldValue($0.value) }
        }
    }
}

/// A token of RFC 9110 section 5.6.2 that a caller may set.
private func isFieldName(_ name: String) -> Bool {
    let own = [
        // Secrets: what is here is in the log for good. A challenge is answered beside it.
        "authorization", "cookie", "proxy-authorization",
        "accept-encoding", "connection", "content-length", "expect", "host", "if-range", "keep-alive", "range", "te",
        "trailer", "transfer-encoding", "upgrade",
    ]
    let tokens = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8
    return !name.isEmpty && name.utf8.allSatisfy { tokens.contains($0) } && !own.contains(name.lowercased())
}

private func isFieldValue(_ value: String) -> Bool {
    value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
}
