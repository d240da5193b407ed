import Contracts
import Foundation
import NIOHTTP1
import TransferMachine

/// A request as it is made once, and made anew at each redirect.
struct FetchRequest: Sendable {
    var url: String
    var method = HTTPMethod.GET
    var headers: HTTPHeaders = [:]
    var body: FileBody?

    /// Where it goes.
    ///
    /// - Throws: where the URL is none of http or https.
    func destination() throws(FetchFailure) -> Destination {
        guard let origin = WebOrigin(url: url) else { throw FetchFailure(.originNotAllowed) }
        let rest = url.dropFirst(origin.scheme.count + 3).drop { !"/?#".contains($0) }.prefix { $0 != "#" }
        return Destination(origin: origin, target: rest.hasPrefix("/") ? String(rest) : "/" + rest)
    }

    /// The request that follows a redirect, by RFC 9110 section 15.4 and what browsers make of it.
    func following(_ redirect: Redirect) -> FetchRequest {
        var next = self
        next.url = redirect.url
        next.method = HTTPMethod(rawValue: redirect.method)
        if next.method != method { next.dropBody() }
        if redirect.crossesOrigins {
            // What was meant for one server is no other's business, and stays away even if it comes back to the first.
            for name in ["Authorization", "Cookie", "Proxy-Authorization"] { next.headers.remove(name: name) }
        }
        return next
    }

    private mutating func dropBody() {
        body = nil
        for name in ["Content-Type", "Content-Encoding", "Content-Language", "Content-Location", "Content-Digest"] {
            headers.remove(name: name)
        }
    }
}

/// Where a request goes, read once, so that nobody after us reads the URL in another way.
struct Destination: Sendable, Equatable {
    let origin: WebOrigin
    /// Path and query, as sent.
    let target: String

    var url: String { origin.description + target }
    var isSecure: Bool { origin.scheme == "https" }
}

extension Redirect {
    /// More of a URL than this is nothing that a log should keep.
    static let longestURL = 8192

    /// - Returns: nil where an answer is the last: it does not redirect, or tells no URL.
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
