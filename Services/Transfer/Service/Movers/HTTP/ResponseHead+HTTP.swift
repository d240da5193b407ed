import AsyncHTTPClient
import Contracts
import NIOHTTP1

extension ResponseHead {
    /// What of an answer's head matters.
    ///
    /// - Parameter askedForRange: without it, `Content-Range` means nothing.
    init(_ response: HTTPClientResponse, askedForRange: Bool) {
        self.init()
        /// What is too long to be kept is as if it were not there.
        func field(_ name: String) -> String? {
            response.headers.first(name: name).flatMap { $0.utf8.count <= 256 ? $0 : nil }
        }
        status = Int(response.status.code)
        etag = field("ETag")
        lastModified = field("Last-Modified")
        contentType = field("Content-Type")
        contentLength = field("Content-Length").flatMap { Int($0) }
        acceptsRanges = status == 206 || field("Accept-Ranges")?.lowercased() == "bytes"
        guard askedForRange, status == 206 || status == 416, let range = field("Content-Range"),
            range.lowercased().hasPrefix("bytes ")
        else { return }
        let parts = range.dropFirst(6).split(separator: "/")
        guard parts.count == 2 else { return }
        completeLength = Int(parts[1])
        rangeStart = parts[0].split(separator: "-").first.flatMap { Int($0) }
    }
}
