import Synchronization

/// The lines of output of a process, from the first to the last.
///
/// Every reader receives all lines, including earlier ones.
public final class Transcript: Sendable {
    private struct State {
        var lines: [String] = []
        var ended = false
        var readers: [Int: AsyncStream<String>.Continuation] = [:]
        var nextReader = 0
    }

    private let state = Mutex(State())

    init() {}

    /// All lines so far.
    public var lines: [String] { state.withLock(\.lines) }

    /// The last lines, for the message of a failure.
    public func tail(_ count: Int = 30) -> String {
        state.withLock { $0.lines.suffix(count).joined(separator: "\n") }
    }

    /// The number of lines so far.
    public var count: Int { state.withLock(\.lines.count) }

    /// All lines after the first `skipped` ones. The sequence ends when the process closes its output.
    public func follow(after skipped: Int = 0) -> AsyncStream<String> {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        state.withLock { state in
            // Under the lock, so that no line is missed or repeated between the replay and new lines.
            state.lines.dropFirst(skipped).forEach { continuation.yield($0) }
            guard !state.ended else { return continuation.finish() }
            let reader = state.nextReader
            state.nextReader += 1
            state.readers[reader] = continuation
        }
        return stream
    }

    /// Returns the first line after the first `skipped` ones, old or new, for which `isWanted` holds; nil if the output
    /// ends before.
    public func first(after skipped: Int = 0, where isWanted: @Sendable (String) -> Bool) async -> String? {
        for await line in follow(after: skipped) where isWanted(line) { return line }
        return nil
    }

    func append(_ line: String) {
        state.withLock { state in
            state.lines.append(line)
            state.readers = state.readers.filter { _, reader in
                if case .terminated = reader.yield(line) { false } else { true }
            }
        }
    }

    func end() {
        let readers = state.withLock { state in
            state.ended = true
            defer { state.readers = [:] }
            return Array(state.readers.values)
        }
        readers.forEach { $0.finish() }
    }
}
