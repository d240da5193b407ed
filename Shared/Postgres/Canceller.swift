import CLibpq
import Dispatch

/// Cancels the current query of a connection. `PQcancel` opens another connection and blocks until the server has
/// closed it, so it runs on separate threads.
///
/// `@unchecked Sendable`: a `PGcancel` never changes, and libpq documents that `PQcancel` is safe on any thread.
final class Canceller: @unchecked Sendable {
    private static let queue = DispatchQueue(label: "postgres.cancel", attributes: .concurrent)
    private let pointer: OpaquePointer

    init?(_ connection: OpaquePointer) {
        guard let pointer = PQgetCancel(connection) else { return nil }
        self.pointer = pointer
    }

    deinit { PQfreeCancel(pointer) }

    /// Sends a cancel request. `done` runs when the server has sent the signal, or could not be reached.
    func request(done: @escaping @Sendable () -> Void) {
        Self.queue.async { [self] in
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
                _ = PQcancel(pointer, buffer.baseAddress, Int32(buffer.count))
            }
            done()
        }
    }
}
