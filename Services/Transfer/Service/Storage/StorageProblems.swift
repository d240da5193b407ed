import HTTPTypes
import ServiceKit

extension Problem {
    static let diskFull = Problem(
        .init(code: 507, reasonPhrase: "Insufficient Storage"), "disk_full", "No space is left for it", retryAfter: 60)
    static let storageExhausted = Problem(
        .serviceUnavailable, "storage_exhausted", "Too many files are open, or no memory is left", retryAfter: 1)
}

extension [Problem] {
    /// What storage may lack at a route that writes.
    static let ofStoring: [Problem] = [.diskFull, .storageExhausted]
}

extension StorageError {
    /// How it looks over HTTP; nil where it is a fault of this service.
    var problem: Problem? {
        switch self {
        case .full: .diskFull
        case .exhausted: .storageExhausted
        case .missing, .failed: nil
        }
    }
}

/// Answers a request that needs storage. What it lacks is told as the problem that it is.
func withStorage<T>(_ body: () async throws -> T) async throws -> T {
    do { return try await body() } catch let error as StorageError { throw error.problem ?? error }
}
