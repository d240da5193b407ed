import HTTPTypes
public import Records

/// The problems that every service may return. A service adds its own as further static members.
extension Problem {
    public static let malformedJSON = Problem(.badRequest, "malformed_json", "Body is not JSON")
    public static let invalidIdentifier = Problem(
        .badRequest, "invalid_identifier", "Identifier is not valid",
        detail: "An identifier has 1 to 128 of A-Z a-z 0-9 . _ : -")
    public static let invalidQuery = Problem(.badRequest, "invalid_query", "Query parameter is not valid")
    public static let invalidHeader = Problem(.badRequest, "invalid_header", "Header is not valid")
    public static let invalidDocument = Problem(.unprocessableContent, "invalid_document", "Document is not valid")
    public static let unsupportedMediaType = Problem(
        .unsupportedMediaType, "unsupported_media_type", "Content type is not supported",
        detail: "Send the body as application/json.")
    public static let bodyTooLarge = Problem(.contentTooLarge, "body_too_large", "Body is too large")

    public static let unauthenticated = Problem(
        .unauthorized, "unauthenticated", "Credential is missing",
        detail: "Send a token or an operator's key as Authorization: Bearer.",
        headers: [.wwwAuthenticate: #"Bearer realm="dormouse""#])
    public static let invalidCredential = Problem(
        .unauthorized, "invalid_credential", "Credential is not valid",
        detail: "The credential is malformed, unknown, expired or revoked.",
        headers: [.wwwAuthenticate: #"Bearer realm="dormouse", error="invalid_token""#])
    /// The problems of every route that needs a credential.
    static let ofCredentials = [
        unauthenticated, invalidCredential, rateLimited, tooManyInFlight, tooManyFailedCredentials,
    ]
    public static let forbidden = Problem(.forbidden, "forbidden", "Credential does not allow this request")

    /// The resource does not exist, or the credential may not see it.
    public static let notFound = Problem(.notFound, "not_found", "Resource not found")
    public static let methodNotAllowed = Problem(.methodNotAllowed, "method_not_allowed", "Method is not allowed")
    public static let beyondRetention = Problem(
        .gone, "beyond_retention", "Requested events are no longer in the log")
    public static let preconditionFailed = Problem(
        .preconditionFailed, "precondition_failed", "Precondition does not hold",
        detail: "If-Match does not name the current version. Read the document again and send its ETag.")

    public static let rateLimited = Problem(
        .tooManyRequests, "rate_limited", "Credential sends too many requests", retryAfter: 1)
    /// The connection itself writes this answer and then closes.
    public static let requestTimeout = Problem(
        .requestTimeout, "request_timeout", "Body arrived too slowly",
        detail: "Send the body without long pauses.")
    public static let busy = Problem(
        .serviceUnavailable, "busy", "Service has too many requests in progress", retryAfter: 1)
    /// Closes the connection, so that the retry may reach a replica with a newer program.
    public static let newerProgramNeeded = Problem(
        .serviceUnavailable, "newer_program_needed", "Data needs a newer version of this service", retryAfter: 1,
        headers: [.connection: "close"])
    public static let internalError = Problem(
        .internalServerError, "internal_error", "Service failed to process the request")

    /// Lists the faults of a document that can't be read.
    public init(_ error: DocumentError) {
        self = .invalidDocument.with(fieldErrors: error.faults)
    }

    /// Reports where a text is not JSON.
    public init(_ error: JSONSyntaxError) { self = .malformedJSON.with(detail: error.description) }
}
