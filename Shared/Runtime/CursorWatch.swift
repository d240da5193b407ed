/// Tells those who wait for a consumer to come to a place in the log how far it has come: however many they are, one of them
/// looks for all who wait on a partition, and not more often than each pause.
actor CursorWatch {
    static var pause: Duration { .milliseconds(10) }

    private let read: @Sendable (Int) async throws -> Int
    /// Cursors never go back, so what was seen stays true.
    private var known: [Int: Int] = [:]
    private var looks: [Int: Task<Int, any Error>] = [:]
    private var lastLook: [Int: ContinuousClock.Instant] = [:]

    /// - Parameter read: asks the database for the position of a partition.
    init(read: @escaping @Sendable (Int) async throws -> Int) { self.read = read }

    /// Waits until a partition's position is an offset or beyond.
    ///
    /// - Returns: false where it is not by then.
    func hasReached(_ offset: Int, in partition: Int, by end: ContinuousClock.Instant) async throws -> Bool {
        while true {
            // Another caller's look may have seen it meanwhile.
            if let position = known[partition], position >= offset { return true }
            if try await look(at: partition) >= offset { return true }
            guard ContinuousClock.now < end else { return false }
            try Task.checkCancellation()
        }
    }

    private func look(at partition: Int) async throws -> Int {
        if let look = looks[partition] { return try await look.value }
        // On its own, since it is for all who join it: one who gives up must not end it. It reads once, and is over.
        let look = Task {
            defer { looks[partition] = nil }
            // Whichever replica holds the partition moves the cursor, so there is nothing in this process to wait on.
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
