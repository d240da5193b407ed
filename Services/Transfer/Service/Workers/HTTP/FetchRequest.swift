import Contracts
import Foundation
import NIOHTTP1
import TransferCore

/// A request, which each redirect changes.
struct FetchRequest: Sendable {
    var url: String
    var method = HTTPMethod.GET
    var headers: HTTPHeaders = [:]
    var body: FileBody?
    /// Called with each interim response. It must not block.
    var onInterim: RunningRequest.Listener?

    /// Returns the origin and target of the URL.
    ///
    /// - Throws: `originNotAllowed` if the URL is not an http or https URL.
    func destination() throws(FetchFailure) -> Destination {
        guard let origin = WebOrigin(url: url) else { throw FetchFailure(.originNotAllowed) }
        let rest = url.dropFirst(origin.scheme.count + 3).drop { !"/?#".contains($0) }.prefix { $0 != "#" }
        return Destination(origin: origin, target: rest.hasPrefix("/") ? String(rest) : "/" + rest)
    }

    /// Returns the request after a redirect, by RFC 9110 section 15.4 and the practice of browsers.
    func following(_ redirect: Redirect) -> FetchRequest {
        var next = self
        next.url = redirect.url
        next.method = HTTPMethod(rawValue: redirect.method)
        if next.method != method { next.dropBody() }
        if redirect.crossesOrigins {
            // Credentials stay with their origin. They stay away even if a later redirect leads back.
            for name in ["Authorization", "Cookie", "Proxy-Authorization"] { next.headers.remove(name: name) }
        }
        return next
    }

    /// Removes the body with the fields about it.
    mutating func dropBody() {
        body = nil
        for name in [
            "Content-Type", "Content-Encoding", "Content-Language", "Content-Location", "Content-Digest",
            "Upload-Complete", "Upload-Incomplete", "Upload-Offset", "Upload-Draft-Interop-Version",
        ] { headers.remove(name: name) }
    }
}

/// The origin and target of a request. The URL is parsed once, so that no other parser can read it differently.
struct Destination: Sendable, Equatable {
    let origin: WebOrigin
    /// Path and query as sent.
    let target: String

    var url: String { origin.description + target }
    var isSecure: Bool { origin.scheme == "https" }
}

extension Redirect {
    /// The largest number of bytes of a redirect's URL, because the log keeps it.
    static let longestURL = 8192

    /// - Returns: nil if the response is not a redirect, or has no valid URL.
    init?(status: Int, headers: HTTPHeaders, to request: FetchRequest) {
        guard let method = Self.method(status, request.method), let location = headers.first(name: "Location"),
            !location.isEmpty,
            let url = URL(string: location, relativeTo: URL(string: request.url))?.absoluteString,
            url.utf8.count <= Self.longestURL
        else { return nil }
        self.init(
            status: status, method: method.rawValue, url: url,
            crossesOrigins: WebOrigin(url: url) != WebOrigin(url: request.url))
    }

    private static func method(_ status: Int, _ method: HTTPMethod) -> HTTPMethod? {
        switch status {
        case 301, 302: method == .POST ? .GET : method
        case 303: method == .HEAD ? .HEAD : .GET
        case 307, 308: method
        default: nil
        }
    }
}
