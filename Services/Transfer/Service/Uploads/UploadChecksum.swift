import Crypto
import Foundation
import HTTPTypes
import NIOCore
import ServiceKit

/// `Upload-Checksum` of tus: an algorithm and what the bytes of one request should come to.
struct UploadChecksum: Sendable {
    /// In the words of `Tus-Checksum-Algorithm`.
    enum Algorithm: String, Sendable, CaseIterable { case sha1, sha256 }

    let algorithm: Algorithm
    let digest: Data

    /// - Parameter header: for example `sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=`.
    /// - Throws: `invalid_header` where it is not like that.
    init(header: String) throws(Problem) {
        let parts = header.split(separator: " ")
        guard parts.count == 2, let algorithm = Algorithm(rawValue: String(parts[0])),
            let digest = Data(base64Encoded: String(parts[1])), digest.count == algorithm.byteCount
        else {
            let algorithms = Algorithm.allCases.map(\.rawValue).joined(separator: " or ")
            throw .invalidHeader.because("Upload-Checksum must be \(algorithms) and what it comes to in base64")
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

/// Where a request tells the checksum of its body.
enum UploadCheck: Sendable {
    case header(UploadChecksum)
    /// Behind the body; until then nobody knows by which algorithm.
    case trailer(ServiceContext)

    /// - Returns: nil where it tells none.
    /// - Throws: `invalid_header`.
    init?(_ headers: HTTPFields, _ context: ServiceContext) throws(Problem) {
        let promised = (headers[.trailer] ?? "").split(separator: ",").contains {
            $0.trimmingCharacters(in: .whitespaces).lowercased() == HTTPField.Name.uploadChecksum.canonicalName
        }
        switch (headers[.uploadChecksum], promised) {
        case (nil, false): return nil
        case (nil, true): self = .trailer(context)
        case (let text?, false): self = .header(try UploadChecksum(header: text))
        case (_?, true): throw .invalidHeader.because("Upload-Checksum is told before the body or behind it")
        }
    }

    var algorithms: [UploadChecksum.Algorithm] {
        switch self {
        case .header(let checksum): [checksum.algorithm]
        case .trailer: UploadChecksum.Algorithm.allCases
        }
    }

    /// The checksum; asked for when the body has been read to its end.
    ///
    /// - Throws: `invalid_header`, also where the trailer that was promised did not come.
    func checksum() async throws(Problem) -> UploadChecksum {
        switch self {
        case .header(let checksum): return checksum
        case .trailer(let context):
            guard let text = await context.trailer(.uploadChecksum) else {
                throw .invalidHeader.because("the trailer Upload-Checksum did not come; none of the bytes was kept")
            }
            return try UploadChecksum(header: text)
        }
    }
}

/// What the bytes of one request come to.
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

    /// Whether the bytes so far come to what was told.
    func fits(_ checksum: UploadChecksum) -> Bool {
        switch checksum.algorithm {
        case .sha1: sha1.map { Data($0.finalize()) } == checksum.digest
        case .sha256: sha256.map { Data($0.finalize()) } == checksum.digest
        }
    }
}
