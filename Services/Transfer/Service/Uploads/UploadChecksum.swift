import Crypto
import Foundation
import NIOCore

/// `Upload-Checksum` of tus: an algorithm and what the bytes of one request should come to.
struct UploadChecksum: Sendable {
    /// In the words of `Tus-Checksum-Algorithm`.
    static let algorithms = "sha1,sha256"

    private enum Hash {
        case sha1(Insecure.SHA1)
        case sha256(SHA256)
    }

    private var hash: Hash
    private let wanted: Data

    /// - Parameter header: for example `sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=`; nil where it is not like that.
    init?(header: String) {
        let parts = header.split(separator: " ")
        guard parts.count == 2, let wanted = Data(base64Encoded: String(parts[1])) else { return nil }
        switch parts[0] {
        case "sha1" where wanted.count == Insecure.SHA1.byteCount: hash = .sha1(Insecure.SHA1())
        case "sha256" where wanted.count == SHA256.byteCount: hash = .sha256(SHA256())
        default: return nil
        }
        self.wanted = wanted
    }

    mutating func update(_ buffer: ByteBuffer) {
        switch hash {
        case .sha1(var sha1):
            buffer.withUnsafeReadableBytes { sha1.update(bufferPointer: $0) }
            hash = .sha1(sha1)
        case .sha256(var sha256):
            sha256.update(buffer)
            hash = .sha256(sha256)
        }
    }

    /// Whether the bytes so far come to what was wanted.
    var fits: Bool {
        switch hash {
        case .sha1(let sha1): Data(sha1.finalize()) == wanted
        case .sha256(let sha256): Data(sha256.finalize()) == wanted
        }
    }
}
