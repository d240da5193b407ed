import Glibc

/// The services of this package as processes.
extension ChildProcess {
    /// Creates or upgrades the tables of a service.
    ///
    /// - Parameters:
    ///   - service: the name of its executable.
    ///   - url: the URL of the database as the owner of the tables; nil if the settings have it.
    ///   - more: further arguments.
    ///   - settings: added to the environment.
    /// - Throws: ``ChildFailed`` with the last lines of a failed migration.
    public static func migrate(
        _ service: String, _ url: String? = nil, _ more: [String] = [], settings: [String: String] = [:]
    ) async throws {
        let database = url.map { ["--migration-database-url", $0] } ?? []
        let migration = try start(product(service), ["migrate"] + database + more, environment: settings)
        guard try await migration.exit(within: 90) == .exited(0) else {
            throw ChildFailed(description: "\(service) migrate: \(migration.errors.tail())")
        }
    }

    /// Starts a service and waits until it is ready.
    ///
    /// - Parameters:
    ///   - service: the name of its executable.
    ///   - url: the URL of the database; nil if the settings have it.
    ///   - port: 0 for a free one.
    ///   - more: further arguments.
    ///   - settings: added to the environment.
    /// - Returns: the process, and the port on which it serves.
    /// - Throws: ``ChildFailed`` with its last lines if it does not get ready.
    public static func serve(
        _ service: String, _ url: String? = nil, port: Int = 0, _ more: [String] = [], settings: [String: String] = [:]
    ) async throws -> (process: ChildProcess, port: Int) {
        let database = url.map { ["--database-url", $0] } ?? []
        let process = try start(
            product(service), ["serve", "--port", "\(port)"] + database + more, environment: settings)
        let line = try await process.waitForLine(containing: "is ready on", within: 90)
        guard let own = line.split(separator: ":").last.flatMap({ Int($0) }) else {
            throw ChildFailed(description: "\(service): no port in “\(line)”")
        }
        return (process, own)
    }

    /// Ends a service with SIGTERM.
    ///
    /// - Throws: ``ChildFailed`` if it does not end with status 0.
    public func shutDown() async throws {
        signal(SIGTERM)
        let status = try await exit()
        guard status == .exited(0) else { throw ChildFailed(description: "ended with \(status): \(errors.tail())") }
    }
}
