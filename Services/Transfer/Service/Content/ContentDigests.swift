import Crypto
import Foundation
import HTTPTypes
import Identity
import NIOCore
import Synchronization

extension DigestAlgorithm {
    /// The largest number of bytes that is read for a digest. More would let readers overload the disk.
    static let longestPart = 64 << 20
    /// The largest number of bytes that is read without a turn.
    static let shortPart = 1 << 20

    /// Returns the digest of a whole file. SHA-256 is stored with the file. A file whose digest is not read gets it for
    /// every algorithm, because a preference does not bind the server (RFC 9530 section 4).
    func field(
        of content: StoredContent, _ file: FilePiece, known: KnownDigests = .shared
    ) async throws -> String {
        if self != .sha256 {
            if let field = known.field(self, ofSHA256: content.sha256) { return field }
            if let read = try await field(of: [.file(file)]) {
                known.keep(read, self, ofSHA256: content.sha256)
                return read
            }
        }
        return Self.sha256.field([UInt8](hexadecimal: content.sha256) ?? [])
    }

    /// Reads a body and returns its digest.
    ///
    /// - Returns: nil for a body of more than ``longestPart`` bytes, and for a long one while others are read.
    func field(of pieces: [BodyPiece], turns: DigestTurns = .shared) async throws -> String? {
        let length = pieces.reduce(0) { $0 + $1.length }
        guard length <= Self.longestPart else { return nil }
        guard length > Self.shortPart else { return try await read(pieces) }
        guard turns.take() else { return nil }
        defer { turns.giveBack() }
        return try await read(pieces)
    }

    private func read(_ pieces: [BodyPiece]) async throws -> String {
        switch self {
        case .sha256: return field(Array(try await digest(of: pieces, SHA256())))
        case .sha512: return field(Array(try await digest(of: pieces, SHA512())))
        }
    }

    private func digest<Hash: HashFunction>(of pieces: [BodyPiece], _ hash: Hash) async throws -> Hash.Digest {
        var hash = hash
        for piece in pieces {
            try await piece.forEachChunk { buffer in
                buffer.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
            }
        }
        return hash.finalize()
    }

    /// Returns a dictionary of one byte sequence (RFC 9530 section 2).
    private func field(_ digest: [UInt8]) -> String { "\(rawValue)=:\(Data(digest).base64EncodedString()):" }
}

/// Digests of whole files that were read before. The stored SHA-256 of a file names its bytes.
final class KnownDigests: Sendable {
    static let shared = KnownDigests(limit: 10_000)

    private struct Key: Hashable {
        let algorithm: DigestAlgorithm
        let sha256: String
    }

    private let limit: Int
    private let fields = Mutex<[Key: String]>([:])

    /// - Parameter limit: the most digests. A full memory forgets all.
    init(limit: Int) { self.limit = limit }

    func field(_ algorithm: DigestAlgorithm, ofSHA256 sha256: String) -> String? {
        fields.withLock { $0[Key(algorithm: algorithm, sha256: sha256)] }
    }

    func keep(_ field: String, _ algorithm: DigestAlgorithm, ofSHA256 sha256: String) {
        fields.withLock { fields in
            if fields.count >= limit { fields.removeAll() }
            fields[Key(algorithm: algorithm, sha256: sha256)] = field
        }
    }
}

/// The digests of long bodies that are read at a time. More would take the processors from other requests.
final class DigestTurns: Sendable {
    static let shared = DigestTurns(max(1, ProcessInfo.processInfo.activeProcessorCount / 2))

    private let left: Mutex<Int>

    init(_ count: Int) { left = Mutex(count) }

    /// Returns whether the caller may read a digest now. It gives its turn back at the end.
    func take() -> Bool {
        left.withLock { left in
            guard left > 0 else { return false }
            left -= 1
            return true
        }
    }

    func giveBack() { left.withLock { $0 += 1 } }
}

extension HTTPField.Name {
    /// RFC 9530.
    static let reprDigest = HTTPField.Name("Repr-Digest")!
    static let wantReprDigest = HTTPField.Name("Want-Repr-Digest")!
    static let contentDigest = HTTPField.Name("Content-Digest")!
    static let wantContentDigest = HTTPField.Name("Want-Content-Digest")!
}

extension SHA256 {
    mutating func update(_ buffer: ByteBuffer) {
        buffer.withUnsafeReadableBytes { update(bufferPointer: $0) }
    }
}

extension Sequence<UInt8> {
    var hexadecimal: String {
        map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }.joined()
    }
}
