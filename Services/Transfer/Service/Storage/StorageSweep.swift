import Foundation
import Logging
import NIOPosix
import ServiceLifecycle

/// Removes files that nothing names: what processes were writing when they were killed, and what could not be removed when
/// it was time.
///
/// Only old ones: a young one may be about to be named.
struct StorageSweep: Service {
    /// How many names are asked for at once.
    private static let page = 10_000

    let storage: Storage
    let folder: Storage.Folder
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
        var rest = try await storage.names(in: folder, olderThan: age)[...]
        while !rest.isEmpty {
            let names = Array(rest.prefix(Self.page))
            rest = rest.dropFirst(Self.page)
            let used = try await inUse(names)
            for name in names where !used.contains(name) { try await storage.remove(name, from: folder) }
        }
    }
}

extension Storage {
    /// The files to which nothing was written for so long, by the clock of this machine.
    fileprivate func names(in folder: Folder, olderThan age: Duration) async throws -> [String] {
        let parent = path(folder)
        return try await NIOThreadPool.singleton.runIfActive {
            let limit = Date(timeIntervalSinceNow: -Double(age.components.seconds))
            return try FileManager.default.contentsOfDirectory(atPath: parent).filter { name in
                // One that has gone meanwhile is nobody's concern; and what is no plain file is not of this service.
                guard let attributes = try? FileManager.default.attributesOfItem(atPath: "\(parent)/\(name)"),
                    attributes[.type] as? FileAttributeType == .typeRegular,
                    let written = attributes[.modificationDate] as? Date
                else { return false }
                return written <= limit
            }
        }
    }
}
