import CMalloc
import Foundation
public import Logging

/// What every service's `main` does around its own wiring.
public enum ServiceMain {
    /// What the first word of the command line asks for; without one, to serve.
    public enum Command: String, Sendable {
        case serve
        /// Creates or updates the service's part of the database, and its role.
        case migrate
        /// Ends with 0 if the database fits this program, else with 1; changes nothing.
        case check
    }

    /// Reads the configuration and runs the service. Help goes to standard output; whatever stops the service is one line on
    /// standard error and an exit status: 78 for wrong settings, 1 for all else.
    ///
    /// - Parameter body: builds the service and runs it, usually by ``ServiceHost/run()``.
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

    /// Each thread would have glibc keep an arena of its own for it, and a service has dozens of threads: what one frees would
    /// be of no use to the others. A few are enough for as many as run at once.
    private static func keepMemoryTogether() {
        _ = mallopt(M_ARENA_MAX, 4)
    }

    /// Shells and containers allow few by default, for programs that can't deal with many; a service has as many connections
    /// and files open as there are devices and transfers.
    private static func openManyFiles() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// The service's logger.
    public static func logger(_ service: String, _ configuration: ServiceConfiguration) -> Logger {
        Logger(label: service) { label in
            LogOutput(label: label, level: configuration.logLevel, format: configuration.logFormat)
        }
    }
}
