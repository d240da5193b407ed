/// Shares one read among all callers that ask at about the same time.
///
/// A caller gets a read that began after its call, so it includes everything that was committed before. One read runs
/// at a time, with a pause between two starts. So the cost does not grow with the number of callers.
public actor FreshReading<Value: Sendable> {
    private let pause: Duration
    private let read: @Sendable () async throws -> Value
    /// The read that has not begun; new callers join it.
    private var waiting: Task<Value, any Error>?
    private var last: Task<Value, any Error>?
    private var begun: ContinuousClock.Instant?

    /// - Parameters:
    ///   - pause: the shortest time between two starts.
    ///   - read: reads the value once.
    public init(pause: Duration, _ read: @escaping @Sendable () async throws -> Value) {
        self.pause = pause
        self.read = read
    }

    /// Returns the value of a read that began after this call.
    ///
    /// - Throws: the error of the read.
    public func value() async throws -> Value {
        if let waiting { return try await waiting.value }
        let before = last
        // Other callers join this task, so the cancellation of one caller must not end it. It reads once and ends.
        let task = Task { try await begin(after: before) }
        (waiting, last) = (task, task)
        return try await task.value
    }

    private func begin(after before: Task<Value, any Error>?) async throws -> Value {
        _ = await before?.result
        if let begun { try await Task.sleep(until: begun + pause, clock: .continuous) }
        // A later caller may need a newer value than this read finds.
        waiting = nil
        begun = .now
        return try await read()
    }
}
