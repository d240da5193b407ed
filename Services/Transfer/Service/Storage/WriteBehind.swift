/// Runs one write at a time in the background, so that the next chunk can arrive meanwhile.
struct WriteBehind {
    private var last: Task<Void, any Error>?

    /// Waits for the former write and begins the next one.
    ///
    /// - Throws: the error of the former write; then the next one does not begin.
    mutating func begin(_ write: sending @escaping () async throws -> Void) async throws {
        try await finish()
        last = Task { try await write() }
    }

    /// Waits for the write in progress.
    mutating func finish() async throws {
        let last = last
        self.last = nil
        try await last?.value
    }
}
