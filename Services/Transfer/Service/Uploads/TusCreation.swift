import Foundation
import HTTPKit
import HTTPTypes

/// The headers of a tus creation request.
struct TusCreation: Equatable {
    /// In bytes; nil if the length is deferred or follows from the parts.
    var length: Int?
    /// `Upload-Metadata` as sent, after validation.
    var metadata: String?
    var concatenation: String?
    /// The ids of the partial uploads to concatenate.
    var parts: [String]?

    /// - Throws: `invalid_header`.
    init(_ headers: HTTPFields) throws(Problem) {
        if let text = headers[.uploadConcat] {
            concatenation = text
            if text.hasPrefix("final;") {
                parts = try Self.parts(text.dropFirst("final;".count))
            } else if text != "partial" {
                throw .invalidHeader.with(detail: "Upload-Concat must be partial or final;…")
            }
        }
        switch (headers[.uploadLength], headers[.uploadDeferLength]) {
        case (nil, nil) where parts != nil: break
        case (let text?, nil) where parts == nil && naturalNumber(text) != nil: length = naturalNumber(text)
        case (nil, "1") where parts == nil: break
        default:
            throw .invalidHeader.with(
                detail:
                    "either Upload-Length in bytes or Upload-Defer-Length: 1 is required; a final upload has neither"
            )
        }
        // Some clients without metadata send an empty header.
        if let text = headers[.uploadMetadata], !text.isEmpty {
            guard Self.isMetadata(text) else {
                throw .invalidHeader.with(
                    detail: "Upload-Metadata must be comma-separated pairs of a unique key and an optional base64 value"
                )
            }
            metadata = text
        }
    }

    /// Returns the ids in a list of paths or URLs of this service, separated by spaces.
    private static func parts(_ text: Substring) throws(Problem) -> [String] {
        let urls = text.split(separator: " ")
        let ids = urls.compactMap { url -> String? in
            guard let slash = url.lastIndex(of: "/"), url[..<slash].hasSuffix("/files") else { return nil }
            let id = String(url[url.index(after: slash)...])
            return UUID(uuidString: id) == nil ? nil : id
        }
        guard !ids.isEmpty, ids.count == urls.count else {
            throw .invalidHeader.with(detail: "Upload-Concat must list uploads of this service")
        }
        return ids
    }

    /// Whether a text has pairs of a unique key and an optional value in base64.
    private static func isMetadata(_ text: String) -> Bool {
        var keys: Set<Substring> = []
        return text.split(separator: ",", omittingEmptySubsequences: false).allSatisfy { pair in
            let words = pair.split(separator: " ")
            guard (1...2).contains(words.count), keys.insert(words[0]).inserted else { return false }
            return words.count == 1 || Data(base64Encoded: String(words[1])) != nil
        }
    }
}
