/// Waits for a consumer to reach a position. All waiters of a partition share one query, at most one in each pause.
actor CursorWatch {
    static var pause: Duration { .milliseconds(10) }

    private let read: @Sendable (Int) async throws -> Int
    private let hurry: @Sendable (Int) -> Void
    /// Cursors never go back, so a position stays valid.
    private var known: [Int: Int] = [:]
    private var looks: [Int: Task<Int, any Error>] = [:]
    private var lastLook: [Int: ContinuousClock.Instant] = [:]

    /// - Parameters:
    ///   - read: reads the position of a partition from the database.
    ///   - hurry: makes this process read the log of a partition at once. Called while a request waits for it.
    init(
        read: @escaping @Sendable (Int) async throws -> Int, hurry: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        self.read = read
        self.hurry = hurry
    }

    /// Waits until a partition's position has reached an offset.
    ///
    /// - Returns: false after the timeout.
    func hasReached(_ offset: Int, in partition: Int, by end: ContinuousClock.Instant) async throws -> Bool {
        while true {
            // Another caller may have read it meanwhile.
            if let position = known[partition], position >= offset { return true }
            if try await look(at: partition) >= offset { return true }
            guard ContinuousClock.now < end else { return false }
            hurry(partition)
            try Task.checkCancellation()
        }
    }

    private func look(at partition: Int) async throws -> Int {
        if let look = looks[partition] { return try await look.value }
        // An unstructured task, because several callers wait for it: a cancelled caller must not cancel it. It reads
        // once.
        let look = Task {
            defer { looks[partition] = nil }
            // Any replica can move the cursor, so this process has nothing to wait on.
            if let next = lastLook[partition].map({ $0 + Self.pause }), next > .now {
                try await Task.sleep(until: next, clock: .continuous)
            }
            lastLook[partition] = .now
            let position = try await read(partition)
            known[partition] = max(position, known[partition] ?? 0)
            return position
        }
        looks[partition] = look
        return try await look.value
    }
}
