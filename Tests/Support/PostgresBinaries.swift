import Foundation
import Glibc

/// A private cluster could not be started or used.
public struct ClusterFailed: Error, CustomStringConvertible {
    /// The failed step, with the message of PostgreSQL.
    public let description: String

    /// Whether another transaction changed the same row of a catalog first.
    var isConflict: Bool { description.contains("tuple concurrently updated") }

    init(_ description: String) { self.description = description }
}

/// The folder with the programs of the server.
struct PostgresBinaries: Sendable {
    static let oldestMajor = 15
    let directory: String

    /// The newest server of version 15 or later in PATH, in the folder of `pg_config`, or in Debian's folders.
    static func find() async throws -> PostgresBinaries {
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        var folders = path
        if let tool = path.map({ "\($0)/pg_config" }).first(where: FileManager.default.isExecutableFile) {
            folders.append(try await SpawnedProcess.run(tool, ["--bindir"], environment: [:]).output)
        }
        let debian = "/usr/lib/postgresql"
        let majors = (try? FileManager.default.contentsOfDirectory(atPath: debian)) ?? []
        folders += majors.compactMap(Int.init).sorted(by: >).map { "\(debian)/\($0)/bin" }

        var best: (major: Int, folder: String)?
        for folder in folders where isComplete(folder) {
            let major = try await major(of: folder)
            if major >= oldestMajor, major > (best?.major ?? 0) { best = (major, folder) }
        }
        guard let best else {
            throw ClusterFailed(
                "No PostgreSQL \(oldestMajor) or newer found in PATH, by pg_config or in \(debian). "
                    + "Install the package `postgresql` (Debian, Ubuntu).")
        }
        return PostgresBinaries(directory: best.folder)
    }

    /// Returns the command for this user: PostgreSQL refuses to run as root, so root becomes the user `postgres`.
    static func asServerUser(_ command: [String]) throws(ClusterFailed) -> [String] {
        guard geteuid() == 0 else { return command }
        let setpriv = "/usr/bin/setpriv"
        guard getpwnam("postgres") != nil, FileManager.default.isExecutableFile(atPath: setpriv) else {
            throw ClusterFailed(
                "PostgreSQL does not run as root: the user `postgres` (package `postgresql`) and \(setpriv) "
                    + "(package `util-linux`) are needed.")
        }
        return [setpriv, "--reuid=postgres", "--regid=postgres", "--init-groups", "--"] + command
    }

    private static func isComplete(_ folder: String) -> Bool {
        ["postgres", "initdb", "pg_isready", "psql"].allSatisfy {
            FileManager.default.isExecutableFile(atPath: "\(folder)/\($0)")
        }
    }

    private static func major(of folder: String) async throws -> Int {
        // "postgres (PostgreSQL) 15.8 (Debian 15.8-0+deb12u1)"
        let version = try await SpawnedProcess.run("\(folder)/postgres", ["--version"], environment: [:]).output
        return Int(version.split(separator: " ").dropFirst(2).first?.prefix { $0.isNumber } ?? "") ?? 0
    }
}
