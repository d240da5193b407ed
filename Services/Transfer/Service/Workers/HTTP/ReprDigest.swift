import Foundation
import NIOHTTP1
import RawStructuredFieldValues

/// The digests of `Repr-Digest` with supported algorithms (RFC 9530 section 3).
struct ReprDigest: Equatable {
    private(set) var digests: [DigestAlgorithm: [UInt8]] = [:]

    /// - Returns: nil without a supported digest, or if the field is not a dictionary of byte sequences (RFC 9651).
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
