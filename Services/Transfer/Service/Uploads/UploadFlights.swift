import NIOCore
import Synchronization

/// The requests of this process that are at an upload: at each at most one. A new one ends the older.
///
/// This makes what the older one has received count before the newer one looks. That only one of them
/// writes, also between processes, is the work of the epoch in the table.
final class UploadFlights: Sendable {
    /// A request that has an upload.
    final class Flight: Sendable {
        private let isReceiving = Mutex(false)
        private let stopped = Mutex(false)
        private let channel: any Channel
        private let ends: AsyncStream<Never>
        private let end: AsyncStream<Never>.Continuation

        fileprivate init(_ channel: any Channel) {
            self.channel = channel
            (ends, end) = AsyncStream.makeStream()
        }

        /// Whether a newer request wants the upload.
        var isStopped: Bool { stopped.withLock(\.self) }

        /// Says whether the request waits for bytes of its client: only then a newer one cuts its connection.
        func receives(_ receives: Bool) {
            isReceiving.withLock { $0 = receives }
            if receives, isStopped { channel.close(promise: nil) }
        }

        fileprivate func stop() {
            stopped.withLock { $0 = true }
            if isReceiving.withLock(\.self) { channel.close(promise: nil) }
        }

        fileprivate func finish() { end.finish() }

        fileprivate func waitForEnd() async { for await _ in ends {} }
    }

    private let flights = Mutex<[String: Flight]>([:])

    /// Runs while no other request of this process is at the upload: an older one is stopped and waited for.
    func take<T>(
        _ upload: String, _ channel: any Channel, _ body: (Flight) async throws -> T
    ) async throws -> T {
        let flight = Flight(channel)
        let older = flights.withLock { flights in
            defer { flights[upload] = flight }
            return flights[upload]
        }
        defer {
            flight.finish()
            flights.withLock { if $0[upload] === flight { $0[upload] = nil } }
        }
        older?.stop()
        await older?.waitForEnd()
        return try await body(flight)
    }
}
