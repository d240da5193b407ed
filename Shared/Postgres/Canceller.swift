import CLibpq
import Dispatch

/// Asks the server to stop what a connection is doing. `PQcancel` opens a connection of its own and blocks until the
/// server has closed it, so it runs on threads of its own.
///
/// Sendable though it holds a pointer: a `PGcancel` never changes, and libpq documents `PQcancel` as safe from any thread.
final class Canceller: @unchecked Sendable {
    private static let queue = DispatchQueue(label: "postgres.cancel", attributes: .concurrent)
    private let pointer: OpaquePointer

    init?(_ connection: OpaquePointer) {
        guard let pointer = PQgetCancel(connection) else { return nil }
        self.pointer = pointer
    }

    deinit { PQfreeCancel(pointer) }

    /// `done` runs when the server has sent the signal, or could not be reached.
    func request(done: @escaping @Sendable () -> Void) {
        Self.queue.async { [self] in
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
                _ = PQcancel(pointer, buffer.baseAddress, Int32(buffer.count))
            }
            done()
        }
    }
}
