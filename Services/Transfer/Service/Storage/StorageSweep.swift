import Logging
import ServiceLifecycle

/// Removes files that nothing names: what processes were writing when they were killed, and what could not be removed when
/// it was time.
///
/// Only old ones: a young one may be about to be named.
struct StorageSweep: Service {
    /// How many names are asked for at once.
    private static let page = 10_000

    let storage: any Storage
    let folder: StorageFolder
    var age = Duration.seconds(3600)
    var pause = Duration.seconds(3600)
    let logger: Logger
    /// Which of these names are in use.
    let inUse: @Sendable ([String]) async throws -> Set<String>

    /// Runs until graceful shutdown or cancellation.
    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                do { try await sweep() } catch {
                    logger.warning(
                        "leftover files could not be swept",
                        metadata: ["folder": "\(folder.rawValue)", "error": "\(error)"])
                }
                try await Task.sleep(for: pause)
            }
        }
    }

    /// Looks at every file once.
    func sweep() async throws {
        var rest = try await storage.names(in: folder, unchangedFor: age)[...]
        while !rest.isEmpty {
            let names = Array(rest.prefix(Self.page))
            rest = rest.dropFirst(Self.page)
            let used = try await inUse(names)
            for name in names where !used.contains(name) {
                do { try await storage.remove(name, from: folder) } catch let error as StorageError {
                    logger.warning(
                        "a leftover file could not be removed",
                        metadata: ["folder": "\(folder.rawValue)", "file": "\(name)", "error": "\(error)"])
                }
            }
        }
    }
}
