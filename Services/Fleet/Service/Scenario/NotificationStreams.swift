import Records
import Synchronization

/// The streams of notifications, one for each connected device.
final class NotificationStreams: Sendable {
    private struct Request: Sendable {
        let device: ScenarioDevice
        let number: Int
        /// Ends when the stream is open, or has failed.
        let opening: Opening
    }

    /// A wait for a stream, which ends once.
    private final class Opening: Sendable {
        private let waiter = Mutex<(hasEnded: Bool, continuation: CheckedContinuation<Void, Never>?)>((false, nil))

        func wait() async {
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let hasEnded = waiter.withLock { waiter in
                        if !waiter.hasEnded { waiter.continuation = continuation }
                        return waiter.hasEnded
                    }
                    if hasEnded { continuation.resume() }
                }
            } onCancel: {
                end()
            }
        }

        func end() {
            let continuation = waiter.withLock { waiter in
                defer { waiter = (true, nil) }
                return waiter.continuation
            }
            continuation?.resume()
        }
    }

    private let client: SuiteClient
    private let statistics: RunStatistics
    private let requests: AsyncStream<Request>
    private let queue: AsyncStream<Request>.Continuation

    init(_ client: SuiteClient, _ statistics: RunStatistics) {
        self.client = client
        self.statistics = statistics
        (requests, queue) = AsyncStream.makeStream(of: Request.self)
    }

    /// Opens the stream of a device, and waits until the device is connected or the stream has failed.
    ///
    /// - Parameter number: the number of the connection.
    func open(_ device: ScenarioDevice, _ number: Int) async {
        let opening = Opening()
        if case .terminated = queue.yield(Request(device: device, number: number, opening: opening)) { return }
        await opening.wait()
    }

    /// Runs all streams until cancellation.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await request in requests { group.addTask { await self.follow(request) } }
            queue.finish()
            group.cancelAll()
        }
    }

    private func follow(_ request: Request) async {
        let device = request.device
        let call = Call(.push, "GET", "/v1/devices/{device}/notifications", [device.name])
        let status = try? await client.stream(.push, call.path, after: nil) {
            statistics.note { $0.streamsOpened += 1 }
        } _: { event in
            guard let document = try? JSON(parsing: Array(event.data.utf8)),
                let notification = DeliveredNotification(document)
            else { return statistics.complain("the stream of push sent an invalid notification") }
            await device.receive(notification, from: request.number)
        } began: {
            request.opening.end()
        }
        request.opening.end()
        if let status, status != 200, ![429, 503, 504, 409].contains(status) {
            statistics.complain("push refused a connection with \(status)")
        }
        await device.disconnected(request.number)
    }
}
