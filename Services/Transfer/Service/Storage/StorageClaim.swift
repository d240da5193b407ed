import EventLog
import Logging
import Telemetry

/// The log to which the files of a storage belong.
struct StorageMark: Equatable {
    /// The id of the incarnation of the log.
    var incarnation: String
    /// The number of events of this log when a process last used the storage.
    var events: Int
    /// Whether the log once had fewer events than that. Then it was restored. So more events later prove nothing.
    var isRefused = false

    init(incarnation: String, events: Int, isRefused: Bool = false) {
        self.incarnation = incarnation
        self.events = events
        self.isRefused = isRefused
    }

    /// Parses `incarnation events` or `incarnation events refused`.
    init?(_ text: String) {
        let words = text.split(whereSeparator: \.isWhitespace)
        guard (2...3).contains(words.count), words.dropFirst(2).allSatisfy({ $0 == "refused" }),
            let events = Int(words[1])
        else { return nil }
        self.init(incarnation: String(words[0]), events: events, isRefused: words.count == 3)
    }

    var text: String { "\(incarnation) \(events)\(isRefused ? " refused" : "")\n" }
}

/// Compares the storage with the log, so that no sweep moves the files of another one.
actor StorageClaim {
    private let storage: DirectoryStorage
    private let incarnation: LogIncarnation
    private let logger: Logger
    private let countEvents: @Sendable () async throws -> Int
    /// Why the files may not belong to the log, after the last check.
    private(set) var fault: String?

    /// - Parameter countEvents: returns the number of events of the log.
    init(
        storage: DirectoryStorage, incarnation: LogIncarnation, logger: Logger,
        countEvents: @escaping @Sendable () async throws -> Int
    ) {
        self.storage = storage
        self.incarnation = incarnation
        self.logger = logger
        self.countEvents = countEvents
    }

    /// Checks whether the files belong to the log, and notes the log in a storage without a mark.
    func check() async throws -> Bool {
        // The mark comes first: another process may write a higher number of events meanwhile.
        let text = try await storage.mark()
        let events = try await countEvents()
        let (found, mark) = try await compare(text, events)
        let isNews = fault != found
        fault = found
        // Before the write, which may need space.
        storage.trash.keep(found != nil)
        if let mark { try await storage.write(mark) }
        if isNews, let found {
            logger.error(
                "refused to sweep DATA_DIRECTORY; run accept-directory if the database belongs to it",
                metadata: [LogKey.error: "\(found)"])
        }
        return found == nil
    }

    /// Returns why the files may not belong to the log, and the mark to write.
    private func compare(_ text: String?, _ events: Int) async throws -> (fault: String?, StorageMark?) {
        let own = StorageMark(incarnation: incarnation.id, events: events)
        guard let text else {
            // The directory is new, or a program without marks wrote it.
            let isUsable = try await incarnation.isFirst ? true : storage.isEmpty
            return isUsable ? (nil, own) : ("the directory names no log, and the log was restored", nil)
        }
        guard var mark = StorageMark(text) else {
            return ("the file incarnation in the directory can't be read", nil)
        }
        if mark.incarnation != incarnation.id {
            let isUsable = try await storage.isEmpty
            return isUsable ? (nil, own) : ("the directory belongs to another incarnation of the log", nil)
        }
        guard mark.isRefused || mark.events > events else { return (nil, own) }
        let isKnown = mark.isRefused
        mark.isRefused = true
        return ("the directory has files of later events than the database had", isKnown ? nil : mark)
    }
}
