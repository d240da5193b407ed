/// Reads something anew for all callers that ask at about the same time.
///
/// A caller gets a reading that began after it asked, so it has everything that was committed before. One reading is under way
/// at a time, and between the beginnings of two is a pause: however many callers ask, they cost no more.
public actor FreshReading<Value: Sendable> {
    private let pause: Duration
    private let read: @Sendable () async throws -> Value
    /// The reading that has not begun; whoever asks joins it.
    private var waiting: Task<Value, any Error>?
    private var last: Task<Value, any Error>?
    private var begun: ContinuousClock.Instant?

    /// - Parameters:
    ///   - pause: the shortest time between the beginnings of two readings.
    ///   - read: reads it once.
    public init(pause: Duration, _ read: @escaping @Sendable () async throws -> Value) {
        self.pause = pause
        self.read = read
    }

    /// Returns what a reading found that began after this call.
    ///
    /// - Throws: what the reading threw.
    public func value() async throws -> Value {
        if let waiting { return try await waiting.value }
        let before = last
        // On its own, since it is for all callers that join it: one that gives up must not end it. It reads once, and is over.
        let task = Task { try await begin(after: before) }
        (waiting, last) = (task, task)
        return try await task.value
    }

    private func begin(after before: Task<Value, any Error>?) async throws -> Value {
        _ = await before?.result
        if let begun { try await Task.sleep(until: begun + pause, clock: .continuous) }
        // A caller from here on may ask for something newer than this reading finds.
        waiting = nil
        begun = .now
        return try await read()
    }
}
