import AsyncHTTPClient
import Contracts
import NIOHTTP1
import Timeline

extension ResponseHead {
    /// Reads the relevant headers of a response.
    ///
    /// - Parameter askedForRange: whether `Content-Range` counts.
    init(_ response: HTTPClientResponse, askedForRange: Bool) {
        self.init()
        /// A field of more than 256 bytes counts as absent.
        func field(_ name: String) -> String? {
            response.headers.first(name: name).flatMap { $0.utf8.count <= 256 ? $0 : nil }
        }
        let now = RealClock().now
        status = Int(response.status.code)
        etag = field("ETag")
        lastModified = field("Last-Modified").flatMap { text in
            // The resource may change again within the second of the response (RFC 9110 section 8.8.2.2).
            guard let date = field("Date").flatMap({ HTTPDate.instant($0, now: now) }) else { return text }
            return HTTPDate.instant(text, now: now).map { $0 < date } ?? false ? text : nil
        }
        contentType = field("Content-Type")
        contentLength = field("Content-Length").flatMap { byteCount($0) }
        acceptsRanges = status == 206 || field("Accept-Ranges")?.lowercased() == "bytes"
        guard askedForRange, status == 206 || status == 416, let range = field("Content-Range"),
            range.lowercased().hasPrefix("bytes ")
        else { return }
        let parts = range.dropFirst(6).split(separator: "/")
        guard parts.count == 2 else { return }
        completeLength = byteCount(parts[1])
        rangeStart = parts[0].split(separator: "-").first.flatMap { byteCount($0) }
    }
}

extension InformationalResponse {
    /// The most informational responses of one request that are reported (our choice).
    static let most = 16

    /// Reads an interim response; nil for 101, which the request did not ask for.
    init?(_ interim: HTTPResponseHead) {
        guard interim.status != .switchingProtocols else { return nil }
        /// A field of more than 1,024 bytes counts as absent.
        func field(_ name: String) -> String? {
            interim.headers.first(name: name).flatMap { $0.utf8.count <= 1024 ? $0 : nil }
        }
        self.init(status: Int(interim.status.code), link: field("Link"), location: field("Location"))
    }
}

/// Returns a number of bytes; nil for anything else.
private func byteCount(_ digits: some StringProtocol) -> Int? {
    // At most 15 digits, so that sums do not overflow.
    guard (1...15).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
        return nil
    }
    return Int(digits)
}
