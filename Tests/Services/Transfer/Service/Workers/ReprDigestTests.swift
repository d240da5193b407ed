import NIOHTTP1
import Testing

@testable import TransferService

/// Parsing of `Repr-Digest` (RFC 9530).
@Suite struct ReprDigests {
    private static let empty = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

    private func read(_ fields: String...) -> ReprDigest? {
        ReprDigest(HTTPHeaders(fields.map { ("Repr-Digest", $0) }))
    }

    @Test func `digests are byte sequences by algorithm`() throws {
        let digest = try #require(read("sha-256=:\(Self.empty):"))
        #expect(digest.digests[.sha256]?.hexadecimal.hasPrefix("e3b0c44298fc1c14") == true)
        #expect(digest.digests[.sha512] == nil)
        #expect(read("md5=:AAAA:, sha-256=:\(Self.empty):;x=1") == digest)
        #expect(read("md5=:AAAA:", "sha-256=:\(Self.empty):") == digest, "two fields are one dictionary")
        #expect(read("sha-256=:AAAA:, sha-256=:\(Self.empty):") == digest, "the last value of a key counts")
        #expect(read("sha-512=:AAAA:")?.digests == [.sha512: [0, 0, 0]])
    }

    @Test(arguments: [
        "", "sha-256", "sha-256=AAAA", "sha-256=:AAAA", "sha-256=\"AAAA\"", "sha-256=:AA*A:", "SHA-256=:AAAA:",
        "md5=:AAAA:", "sha-256=(:AAAA:)", "sha-256=:AAAA:,", "unixsum=1, ", "\u{E9}=:AAAA:",
    ])
    func `an invalid digest field is ignored`(field: String) { #expect(read(field) == nil) }
}
