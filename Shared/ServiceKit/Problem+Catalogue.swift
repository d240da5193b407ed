import HTTPTypes
public import Records

/// The problems that every service may answer. A service adds its own as further static members.
extension Problem {
    public static let malformedJSON = Problem(.badRequest, "malformed_json", "The body is not JSON")
    public static let invalidIdentifier = Problem(
        .badRequest, "invalid_identifier", "An identifier has 1 to 128 of A-Z a-z 0-9 . _ : -")
    public static let invalidQuery = Problem(.badRequest, "invalid_query", "A query parameter is not acceptable")
    public static let invalidHeader = Problem(.badRequest, "invalid_header", "A header is not acceptable")
    public static let invalidDocument = Problem(.unprocessableContent, "invalid_document", "The document has faults")
    public static let unsupportedMediaType = Problem(
        .unsupportedMediaType, "unsupported_media_type", "The body must be application/json")
    public static let bodyTooLarge = Problem(.contentTooLarge, "body_too_large", "The body is too large")

    public static let unauthenticated = Problem(
        .unauthorized, "unauthenticated", "A credential is needed",
        headers: [.wwwAuthenticate: #"Bearer realm="dormouse""#])
    public static let invalidCredential = Problem(
        .unauthorized, "invalid_credential", "The credential is not valid",
        headers: [.wwwAuthenticate: #"Bearer realm="dormouse", error="invalid_token""#])
    /// The problems of every route that needs a credential.
    static let ofCredentials = [
        unauthenticated, invalidCredential, rateLimited, tooManyInFlight, tooManyFailedCredentials,
    ]
    public static let forbidden = Problem(.forbidden, "forbidden", "The credential does not allow this")

    /// What does not exist, and what belongs to another.
    public static let notFound = Problem(.notFound, "not_found", "There is no such resource")
    public static let methodNotAllowed = Problem(
        .methodNotAllowed, "method_not_allowed", "The resource does not have this method")
    public static let beyondRetention = Problem(
        .gone, "beyond_retention", "The log does not go back so far any more")
    public static let preconditionFailed = Problem(
        .preconditionFailed, "precondition_failed", "The document is no longer what If-Match names")

    public static let rateLimited = Problem(
        .tooManyRequests, "rate_limited", "The credential makes too many requests", retryAfter: 1)
    /// The connection itself writes this answer and then closes.
    public static let requestTimeout = Problem(
        .requestTimeout, "request_timeout", "The body came too slowly",
        detail: "Send the body without long pauses.")
    public static let busy = Problem(.serviceUnavailable, "busy", "Too many requests are under way", retryAfter: 1)
    /// Sends the caller to another replica, which may run a newer program already.
    public static let newerProgramNeeded = Problem(
        .serviceUnavailable, "newer_program_needed", "Only a newer version of this service can read that",
        retryAfter: 1,
        headers: [.connection: "close"])
    public static let internalError = Problem(.internalServerError, "internal_error", "The service failed")

    /// The problem of a document that could not be read.
    public init(_ error: DocumentError) {
        self = .invalidDocument.because(error.faults)
    }

    /// The problem of a text that is no JSON.
    public init(_ error: JSONSyntaxError) { self = .malformedJSON.because(error.description) }
}
