import Glibc
import HTTPKit
import HTTPTypes
import Hummingbird
import Testing

@testable import TransferService

/// Responses to storage failures.
@Suite struct StorageProblems {
    @Test(arguments: [
        (ENOSPC, 507, "disk_full"), (EDQUOT, 507, "disk_full"), (EFBIG, 507, "disk_full"),
        (EMFILE, 503, "storage_exhausted"), (ENFILE, 503, "storage_exhausted"),
    ])
    func `a lack of storage is a problem with Retry-After`(number: Int32, status: Int, code: String) async throws {
        let problem = try #require(
            await #expect(throws: Problem.self) {
                try await withStorage { throw StorageError("opening a file", number) }
            })
        #expect(problem.status.code == status && problem.code == code)
        #expect(Int(Response(problem: problem).headers[.retryAfter] ?? "") ?? 0 > 0)
    }

    @Test(arguments: [ENOENT, EIO, EACCES]) func `other storage errors pass unchanged`(number: Int32) async {
        await #expect(throws: StorageError("opening a file", number)) {
            try await withStorage { throw StorageError("opening a file", number) }
        }
    }

    @Test func `problems and results pass unchanged`() async throws {
        await #expect(throws: Problem.uploadCut) { try await withStorage { throw Problem.uploadCut } }
        #expect(try await withStorage { 1 } == 1)
    }
}
