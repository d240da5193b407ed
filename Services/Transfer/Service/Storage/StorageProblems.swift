import HTTPKit
import HTTPTypes

extension Problem {
    static let diskFull = Problem(
        .insufficientStorage, "disk_full", "Storage is full",
        detail: "DATA_DIRECTORY has no space left beyond DATA_RESERVE.", retryAfter: 60)
    static let storageExhausted = Problem(
        .serviceUnavailable, "storage_exhausted", "Storage is out of resources",
        detail: "Too many files are open, or no memory is left.", retryAfter: 1)
}

extension [Problem] {
    /// The storage problems of a route that writes.
    static let ofStoring: [Problem] = [.diskFull, .storageExhausted]
}

extension StorageError {
    /// The problem for the client; nil for a fault of this service.
    var problem: Problem? {
        switch self {
        case .full: .diskFull
        case .exhausted: .storageExhausted
        case .missing, .failed: nil
        }
    }
}

/// Runs `body` and replaces a ``StorageError`` by its problem.
func withStorage<T>(_ body: () async throws -> T) async throws -> T {
    do { return try await body() } catch let error as StorageError { throw error.problem ?? error }
}
