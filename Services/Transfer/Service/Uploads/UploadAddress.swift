import Foundation
import HTTPTypes
import Hummingbird

/// The URL of uploads, for `Location` of new ones.
///
/// `PUBLIC_URL` takes precedence. Without it, the URL has the scheme of the port and the host that the client named. If
/// a proxy's header is present, or the host is invalid, `Location` is a path. Clients resolve it by the request's URL
/// (RFC 9110 section 10.2.2). The service never copies a scheme or host from such a header: any client can send one.
struct UploadAddress: Sendable {
    /// The headers that proxies add.
    private static let ofProxies = ["forwarded", "x-forwarded-proto", "x-forwarded-host"].compactMap {
        HTTPField.Name($0)
    }

    private let publicURL: String?
    private let scheme: String

    /// - Parameter publicURL: a result of ``base(_:)``.
    init(publicURL: String?, isSecure: Bool) {
        self.publicURL = publicURL
        scheme = isSecure ? "https" : "http"
    }

    /// Returns the URL of a path of this service, or the path itself.
    func url(of path: String, asked request: Request) -> String {
        if let publicURL { return publicURL + path }
        guard !Self.ofProxies.contains(where: { request.headers[$0] != nil }), let host = request.head.authority,
            Self.isHost(host)
        else { return path }
        return "\(scheme)://\(host)\(path)"
    }

    /// Returns a base URL to which paths can be appended; nil if the text is not one.
    static func base(_ text: String) -> String? {
        guard let url = URLComponents(string: text), let scheme = url.scheme, ["http", "https"].contains(scheme),
            let host = text.range(of: "://")?.upperBound, url.query == nil, url.fragment == nil,
            isHost(String(text[host...].prefix { $0 != "/" })), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    /// Whether a text is a host with an optional port (RFC 3986 section 3.2), without percent-encoding.
    static func isHost(_ text: String) -> Bool {
        let form = #/(?:[A-Za-z0-9._~\-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::([0-9]{1,5}))?/#
        guard let parts = text.wholeMatch(of: form) else { return false }
        guard let port = parts.1 else { return true }
        return (1...65_535).contains(Int(port) ?? 0)
    }
}
