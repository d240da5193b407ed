import Hummingbird

extension Request {
    /// Whether the names in `Host` and `Origin` are those of this machine.
    ///
    /// A page of another site in the browser of a developer can send requests to the loopback address. It can't choose
    /// these fields: a rebound name of that site stands in `Host`, and the site itself in `Origin`.
    var isLocal: Bool {
        let origin = headers[.origin].map { Self.isLoopback($0[...].droppingScheme) } ?? true
        // A client of HTTP/1.0 may send no Host. No browser does this.
        return origin && head.authority.map { Self.isLoopback($0[...]) } ?? true
    }

    /// Whether an authority, with or without a port, names this machine.
    private static func isLoopback(_ authority: Substring) -> Bool {
        if authority.hasPrefix("[") { return authority.prefix { $0 != "]" } == "[::1" }
        return ["127.0.0.1", "localhost"].contains(authority.prefix { $0 != ":" }.lowercased())
    }
}

extension Substring {
    /// The authority of an origin; the whole text, for example `null`, if it has no scheme.
    fileprivate var droppingScheme: Substring { firstRange(of: "://").map { self[$0.upperBound...] } ?? self }
}

extension Problem {
    static let foreignHost = Problem(
        .forbidden, "foreign_host", "Request is not for this machine",
        detail: "Under --insecure-dev Host and Origin must be 127.0.0.1, ::1 or localhost.")
}
