import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import TestSupport

/// Another `transfer` with its own database and directory, to download from.
struct ContentOrigin {
    var process: ChildProcess { replica.process }
    /// The port, which stays the same after a restart.
    var port: Int { replica.port }
    private let replica: UploadsSuite.Replica
    private let suite: UploadsSuite

    static func start() async throws -> ContentOrigin {
        let (suite, replica) = try await UploadsSuite.start()
        return ContentOrigin(replica: replica, suite: suite)
    }

    /// Starts the process again.
    func restarted() async throws -> ContentOrigin {
        let replica = try await suite.replica(port: port)
        return ContentOrigin(replica: replica, suite: suite)
    }

    /// A file to download.
    struct File: Sendable {
        let name: String
        let bytes: ByteBuffer
        let sha256: String
    }

    /// Puts files of these sizes. All have different bytes, so that swapped files are detected.
    func put(_ sizes: [Int], seed: UInt64) async throws -> [File] {
        var random = SplitMix64(seed: seed)
        let most = sizes.max() ?? 0
        let pool = try keystream(2 * most, seed: seed)
        let files = sizes.enumerated().map { index, size in
            let start = Int.random(in: 0...most, using: &random)
            let bytes = pool.getSlice(at: start, length: size) ?? ByteBuffer()
            return File(name: "file-\(index)", bytes: bytes, sha256: TransferServiceTests.sha256(bytes))
        }
        try await inParallel(files) { file in
            let put = try await replica.send(.PUT, "/content/\(file.name)", [:], file.bytes)
            guard put.status == 201 else { throw Unexpected(description: "\(put.status) \(String(buffer: put.body))") }
        }
        return files
    }
}

/// Returns pseudo-random bytes, the keystream of ChaCha20, faster than ``noise(_:seed:)``.
func keystream(_ count: Int, seed: UInt64) throws -> ByteBuffer {
    let key = SymmetricKey(data: SHA256.hash(data: Data("\(seed)".utf8)))
    let nonce = try ChaChaPoly.Nonce(data: Data(count: 12))
    return ByteBuffer(bytes: try ChaChaPoly.seal(Data(count: count), using: key, nonce: nonce).ciphertext)
}

/// Runs the body for each element, at most eight at once.
func inParallel<Element: Sendable>(
    _ elements: [Element], _ body: @escaping @Sendable (Element) async throws -> Void
) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for (index, element) in elements.enumerated() {
            if index >= 8 { try await group.next() }
            group.addTask { try await body(element) }
        }
        try await group.waitForAll()
    }
}
