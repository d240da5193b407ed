import Foundation
import NIOHTTP1
import RawStructuredFieldValues

/// What a server promises the whole file to be (RFC 9530 section 3), as far as its algorithms are known here.
struct ReprDigest: Equatable {
    private(set) var digests: [DigestAlgorithm: [UInt8]] = [:]

    /// - Returns: nil where nothing is promised that can be checked. A field that is no dictionary of byte sequences (RFC 9651)
    ///   counts as none.
    init?(_ headers: HTTPHeaders) {
        let fields = headers["Repr-Digest"]
        guard !fields.isEmpty else { return nil }
        var parser = StructuredFieldValueParser(Array(fields.joined(separator: ", ").utf8))
        guard let dictionary = try? parser.parseDictionaryFieldValue() else { return nil }
        for algorithm in DigestAlgorithm.allCases {
            guard case .item(let item) = dictionary[algorithm.rawValue],
                case .undecodedByteSequence(let text) = item.rfc9651BareItem,
                let bytes = Data(base64Encoded: String(text))
            else { continue }
            digests[algorithm] = Array(bytes)
        }
        if digests.isEmpty { return nil }
    }
}
