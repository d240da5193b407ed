public import Logging
import Synchronization

/// The least severe level that a process logs. It can change while the process runs, for all its loggers.
public final class LogThreshold: Sendable {
    private static let levels = Logger.Level.allCases

    /// The index of the level in ``levels``. An atomic, because each log statement reads it.
    private let index: Atomic<Int>

    public init(_ level: Logger.Level) { index = Atomic(Self.index(of: level)) }

    public var level: Logger.Level { Self.levels[index.load(ordering: .relaxed)] }

    /// Sets the level.
    ///
    /// - Returns: the former level.
    @discardableResult
    public func set(_ level: Logger.Level) -> Logger.Level {
        Self.levels[index.exchange(Self.index(of: level), ordering: .relaxed)]
    }

    private static func index(of level: Logger.Level) -> Int { levels.firstIndex(of: level) ?? 0 }
}
