import Contracts
import NIOCore
import NIOHTTP1
import Synchronization
import TestSupport
import Testing

@testable import TransferService

/// Responses that arrive before the end of the request's body.
@Suite struct EarlyResponseTests {
    private static let large = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig"

    /// Counts the files of its bodies that still exist.
    private final class Files: Sendable { let count = Mutex(0) }

    private final class CountedFile: StoredFile {
        private let bytes: ByteBuffer
        private let files: Files

        init(_ bytes: ByteBuffer, _ files: Files) {
            self.bytes = bytes
            self.files = files
            files.count.withLock { $0 += 1 }
        }

        deinit { files.count.withLock { $0 -= 1 } }

        func write(_ buffer: ByteBuffer, at offset: Int) { Issue.record("written to") }
        func sync() { Issue.record("synced") }

        func read(at offset: Int, count: Int) -> ByteBuffer {
            bytes.getSlice(at: offset, length: min(count, bytes.readableBytes - offset)) ?? ByteBuffer()
        }
    }

    /// Sixteen requests at once, so that the bodies are ahead of their connections.
    @Test(arguments: [large, large.replacing("\r\n\r\n", with: "\r\nConnection: close\r\n\r\n")])
    func `every early response arrives, and its request keeps no file`(response: String) async throws {
        let server = try await CannedServer.start(isEarly: true) { _ in response }
        let bytes = ByteBuffer(repeating: 0, count: 32 << 20)
        let files = Files()
        for _ in 0..<8 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<16 {
                    group.addTask {
                        let piece = FilePiece(file: CountedFile(bytes, files), range: 0..<bytes.readableBytes)
                        var fetching = try Fetching(server.url(), by: .PUT, from: server)
                        fetching.request.body = FileBody([piece])
                        let outcome = try await fetching.run()
                        #expect(outcome.status == 413 && outcome.body == "big")
                    }
                }
                try await group.waitForAll()
            }
        }
        try await eventually(within: 20, describe: "no file is left") { files.count.withLock { $0 } == 0 }
    }
}
