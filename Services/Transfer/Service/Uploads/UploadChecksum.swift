import Crypto
import Foundation
import HTTPKit
import HTTPTypes
import NIOCore

/// `Upload-Checksum` of tus: an algorithm and the expected digest of a request's body.
struct UploadChecksum: Sendable {
    /// The values of `Tus-Checksum-Algorithm`.
    enum Algorithm: String, Sendable, CaseIterable { case sha1, sha256 }

    let algorithm: Algorithm
    let digest: Data

    /// - Parameter header: for example `sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=`.
    /// - Throws: `invalid_header`.
    init(header: String) throws(Problem) {
        let parts = header.split(separator: " ")
        guard parts.count == 2, let algorithm = Algorithm(rawValue: String(parts[0])),
            let digest = Data(base64Encoded: String(parts[1])), digest.count == algorithm.byteCount
        else {
            let algorithms = Algorithm.allCases.map(\.rawValue).joined(separator: " or ")
            throw .invalidHeader.with(detail: "Upload-Checksum must be \(algorithms) and the digest in base64")
        }
        (self.algorithm, self.digest) = (algorithm, digest)
    }
}

extension UploadChecksum.Algorithm {
    fileprivate var byteCount: Int {
        switch self {
        case .sha1: Insecure.SHA1.byteCount
        case .sha256: SHA256.byteCount
        }
    }
}

/// The place of `Upload-Checksum` in a request.
enum UploadCheck: Sendable {
    case header(UploadChecksum)
    /// After the body. The algorithm is unknown until then.
    case trailer(ServiceContext)

    /// - Returns: nil if the request has no checksum.
    /// - Throws: `invalid_header`.
    init?(_ headers: HTTPFields, _ context: ServiceContext) throws(Problem) {
        let promised = (headers[.trailer] ?? "").split(separator: ",").contains {
            $0.trimmingCharacters(in: .whitespaces).lowercased() == HTTPField.Name.uploadChecksum.canonicalName
        }
        switch (headers[.uploadChecksum], promised) {
        case (nil, false): return nil
        case (nil, true): self = .trailer(context)
        case (let text?, false): self = .header(try UploadChecksum(header: text))
        case (_?, true): throw .invalidHeader.with(detail: "Upload-Checksum must be a header or a trailer, not both")
        }
    }

    var algorithms: [UploadChecksum.Algorithm] {
        switch self {
        case .header(let checksum): [checksum.algorithm]
        case .trailer: UploadChecksum.Algorithm.allCases
        }
    }

    /// Returns the checksum. The whole body must have been read.
    ///
    /// - Throws: `invalid_header`, also if the announced trailer is missing.
    func checksum() async throws(Problem) -> UploadChecksum {
        switch self {
        case .header(let checksum): return checksum
        case .trailer(let context):
            guard let text = await context.trailer(.uploadChecksum) else {
                throw .invalidHeader.with(
                    detail: "the trailer Upload-Checksum is missing; the upload keeps no bytes of this request")
            }
            return try UploadChecksum(header: text)
        }
    }
}

/// The digests of a request's body.
struct UploadHash: Sendable {
    private var sha1: Insecure.SHA1?
    private var sha256: SHA256?

    init(_ algorithms: [UploadChecksum.Algorithm]) {
        if algorithms.contains(.sha1) { sha1 = Insecure.SHA1() }
        if algorithms.contains(.sha256) { sha256 = SHA256() }
    }

    mutating func update(_ buffer: ByteBuffer) {
        buffer.withUnsafeReadableBytes { bytes in
            sha1?.update(bufferPointer: bytes)
            sha256?.update(bufferPointer: bytes)
        }
    }

    /// Whether the bytes so far have this checksum.
    func fits(_ checksum: UploadChecksum) -> Bool {
        switch checksum.algorithm {
        case .sha1: sha1.map { Data($0.finalize()) } == checksum.digest
        case .sha256: sha256.map { Data($0.finalize()) } == checksum.digest
        }
    }
}
