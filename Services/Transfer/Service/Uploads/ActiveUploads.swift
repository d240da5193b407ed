import NIOCore
import Synchronization

/// The requests of this process that have taken an upload, at most one for each upload. A new one stops the older one.
///
/// The bytes of the older request count before the newer one reads the offset. The epoch in the table fences older
/// requests, also those of other processes.
final class ActiveUploads: Sendable {
    /// A request that has taken an upload.
    final class ActiveUpload: Sendable {
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

        /// Sets whether the request waits for bytes of its client. Only then may a newer request close its connection.
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

    private let uploads = Mutex<[String: ActiveUpload]>([:])

    /// Stops an older request of this process, waits for its end and runs `body`.
    func take<T>(
        _ upload: String, _ channel: any Channel, _ body: (ActiveUpload) async throws -> T
    ) async throws -> T {
        let active = ActiveUpload(channel)
        let older = uploads.withLock { uploads in
            defer { uploads[upload] = active }
            return uploads[upload]
        }
        defer {
            active.finish()
            uploads.withLock { if $0[upload] === active { $0[upload] = nil } }
        }
        older?.stop()
        await older?.waitForEnd()
        return try await body(active)
    }
}
