import CMalloc
import Foundation
public import Logging
import Telemetry

/// The common part of every service's `main`.
public enum ServiceMain {
    /// The first word of the command line; `serve` by default.
    public enum Command: String, Sendable {
        /// Serves until a signal ends it.
        case serve
        /// Creates or updates the service's part of the database, and its role.
        case migrate
        /// Exits with 0 if the database fits this program, else with 1. It changes nothing.
        case check
    }

    /// Reads the configuration and runs the service.
    ///
    /// Help goes to standard output. An error becomes one line on standard error and an exit status: 78 for wrong
    /// settings, 1 for all others.
    ///
    /// - Parameter body: builds the service and runs it, usually with ``ServiceHost/run()``.
    public static func run(
        _ service: String, port: Int, more: [Setting] = [],
        _ body: (Command, ServiceConfiguration, Logger) async throws -> Void
    ) async -> Never {
        keepMemoryTogether()
        openManyFiles()
        do {
            let environment = ProcessInfo.processInfo
            let dotEnv = FileManager.default.contents(atPath: ".env") ?? Data()
            var arguments = Array(environment.arguments.dropFirst())
            let command = arguments.first.flatMap { Command(rawValue: $0) }
            if command != nil { arguments.removeFirst() }
            let request = try ServiceConfiguration.read(
                service: service, port: port, more: more, arguments: arguments,
                environment: environment.environment, dotEnv: String(decoding: dotEnv, as: UTF8.self))
            switch request {
            case .help(let text): print(text)
            case .run(let configuration):
                try await body(command ?? .serve, configuration, logger(service, configuration))
            }
            exit(0)
        } catch {
            FileHandle.standardError.write(Data("\(service): \(Redaction.apply(String(describing: error)))\n".utf8))
            exit(error is ConfigurationError ? ConfigurationError.exitStatus : 1)
        }
    }

    /// Limits the arenas of glibc. Memory that a thread frees stays in its arena, and a service has dozens of threads.
    private static func keepMemoryTogether() {
        _ = mallopt(M_ARENA_MAX, 4)
    }

    /// Raises the limit of open files. Its default is low, and a service needs one for each connection and transfer.
    private static func openManyFiles() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// Creates the service's logger.
    public static func logger(_ service: String, _ configuration: ServiceConfiguration) -> Logger {
        Logger(label: service) { label in
            LogOutput(label: label, level: configuration.logLevel, format: configuration.logFormat)
        }
    }
}
