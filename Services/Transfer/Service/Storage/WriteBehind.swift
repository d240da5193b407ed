/// Lets one chunk be written while the next one is gathered: at most one is under way.
struct WriteBehind {
    private var last: Task<Void, any Error>?

    /// Returns when the write before this one is done.
    ///
    /// - Throws: what that one threw; this one is not begun then.
    mutating func begin(_ write: sending @escaping () async throws -> Void) async throws {
        try await finish()
        last = Task { try await write() }
    }

    /// Returns when nothing is under way.
    mutating func finish() async throws {
        let last = last
        self.last = nil
        try await last?.value
    }
}
