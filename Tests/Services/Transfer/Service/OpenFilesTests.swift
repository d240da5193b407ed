import Contracts
import Foundation
import Glibc
import TestSupport
import Testing

@testable import TransferService

/// The limit of open files.
@Suite("Open files", .tags(.database, .processes), .serialized) struct OpenFilesTests {
    @Test func `a service raises its limit of open files to the maximum`() async throws {
        let (_, transfer) = try await TransferSuite.start { _ in
            ["/bin/sh", "-c", #"ulimit -S -n 256 && exec "$@""#, "sh"]
        }
        defer { transfer.signal(SIGTERM) }
        let limits = try String(contentsOfFile: "/proc/\(transfer.pid)/limits", encoding: .utf8)
        let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max open files") })
        let words = line.split(separator: " ").suffix(3)
        #expect(words.first == words.dropFirst().first && words.first != "256", "\(line)")
    }

    @Test(arguments: [EMFILE, ENFILE, ENOMEM, EAGAIN])
    func `a lack of file handles or memory ends the attempt and not the task`(number: Int32) {
        let error = StorageError("opening a file", number)
        #expect(error == .exhausted && AttemptEnd(error) == .connectionLost)
    }

    @Test(arguments: [ENOSPC, EIO, EROFS, ENOENT]) func `a disk error is cannotWrite`(number: Int32) {
        #expect(AttemptEnd(StorageError("opening a file", number)) == .cannotWrite)
    }
}
