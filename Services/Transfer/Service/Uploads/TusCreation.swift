import Foundation
import HTTPTypes
import ServiceKit

/// What the head of a tus creation asks for.
struct TusCreation: Equatable {
    /// In bytes; nil where it is told later, or follows from the parts.
    var length: Int?
    /// As it was sent, once it is known to be well-formed.
    var metadata: String?
    var concatenation: String?
    /// The ids of the uploads that it is to be put together from.
    var parts: [String]?

    /// - Throws: `invalid_header`.
    init(_ headers: HTTPFields) throws(Problem) {
        if let text = headers[.uploadConcat] {
            concatenation = text
            if text.hasPrefix("final;") {
                parts = try Self.parts(text.dropFirst("final;".count))
            } else if text != "partial" {
                throw .invalidHeader.because("Upload-Concat must be partial or final;…")
            }
        }
        switch (headers[.uploadLength], headers[.uploadDeferLength]) {
        case (nil, nil) where parts != nil: break
        case (let text?, nil) where parts == nil && naturalNumber(text) != nil: length = naturalNumber(text)
        case (nil, "1") where parts == nil: break
        default:
            throw .invalidHeader.because(
                "Upload-Length, a number of bytes, or Upload-Defer-Length: 1 is needed; for final uploads neither"
            )
        }
        // An empty one is what some clients send who have nothing to tell.
        if let text = headers[.uploadMetadata], !text.isEmpty {
            guard Self.isMetadata(text) else {
                throw .invalidHeader.because("Upload-Metadata must be keys with their values in base64, with commas")
            }
            metadata = text
        }
    }

    /// Paths or URLs of this service, with spaces between them.
    private static func parts(_ text: Substring) throws(Problem) -> [String] {
        let urls = text.split(separator: " ")
        let ids = urls.compactMap { url -> String? in
            guard let slash = url.lastIndex(of: "/"), url[..<slash].hasSuffix("/files") else { return nil }
            let id = String(url[url.index(after: slash)...])
            return UUID(uuidString: id) == nil ? nil : id
        }
        guard !ids.isEmpty, ids.count == urls.count else {
            throw .invalidHeader.because("Upload-Concat must name uploads of this service")
        }
        return ids
    }

    /// Pairs of a key and a value in base64, which may be missing; no key twice.
    private static func isMetadata(_ text: String) -> Bool {
        var keys: Set<Substring> = []
        return text.split(separator: ",", omittingEmptySubsequences: false).allSatisfy { pair in
            let words = pair.split(separator: " ")
            guard (1...2).contains(words.count), keys.insert(words[0]).inserted else { return false }
            return words.count == 1 || Data(base64Encoded: String(words[1])) != nil
        }
    }
}
