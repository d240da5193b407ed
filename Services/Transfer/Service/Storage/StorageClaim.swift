import EventLog
import Logging
import Telemetry

/// The log to which the files of a storage belong.
struct StorageMark: Equatable {
    /// The id of the incarnation of the log.
    var incarnation: String
    /// The number of events of this log when a process last used the storage.
    var events: Int

    init(incarnation: String, events: Int) {
        self.incarnation = incarnation
        self.events = events
    }

    /// Parses `incarnation events`.
    init?(_ text: String) {
        let words = text.split(whereSeparator: \.isWhitespace)
        guard words.count == 2, let events = Int(words[1]) else { return nil }
        self.init(incarnation: String(words[0]), events: events)
    }

    var text: String { "\(incarnation) \(events)\n" }
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
        let events = try await countEvents()
        let found = try await compare(events)
        let isNews = fault != found
        fault = found
        // Before the write, which may need space.
        storage.trash.keep(found != nil)
        if found == nil { try await storage.write(StorageMark(incarnation: incarnation.id, events: events)) }
        if isNews, let found {
            logger.error(
                "refused to sweep DATA_DIRECTORY; run accept-directory if the database belongs to it",
                metadata: [LogKey.error: "\(found)"])
        }
        return found == nil
    }

    private func compare(_ events: Int) async throws -> String? {
        guard let text = try await storage.mark() else {
            // The directory is new, or a program without marks wrote it.
            let isUsable = try await incarnation.isFirst ? true : storage.isEmpty
            return isUsable ? nil : "the directory names no log, and the log was restored"
        }
        guard let mark = StorageMark(text) else { return "the file incarnation in the directory can't be read" }
        if mark.incarnation != incarnation.id, try await !storage.isEmpty {
            return "the directory belongs to another incarnation of the log"
        }
        if mark.incarnation == incarnation.id, mark.events > events {
            return "the directory has files of later events than the database"
        }
        return nil
    }
}
