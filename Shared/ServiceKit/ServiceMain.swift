public import ArgumentParser
import CMalloc
import CommandLines
import Foundation
public import Logging
import Telemetry

/// A service as a program: its settings and its commands.
public protocol ServiceProgram: Sendable {
    /// The name of the service.
    static var name: String { get }
    /// The default port.
    static var port: Int { get }

    /// The commands that only this service has, by name.
    static var ownCommands: [String: OwnCommand<Self>] { get }

    /// Reads the settings that only this service has.
    init(_ reader: SettingsReader)

    /// Creates or updates the service's part of the database, and its role.
    func migrate(_ configuration: ServiceConfiguration, logger: Logger) async throws
    /// Checks that the database fits this program. It changes nothing.
    ///
    /// - Throws: an error of one line with the remedy if the program can't work with the database.
    func check(_ configuration: ServiceConfiguration, logger: Logger) async throws
    /// Serves until a signal ends it.
    ///
    /// - Throws: an error of one line with the remedy if the service can't start.
    func serve(_ configuration: ServiceConfiguration, logger: Logger) async throws
}

/// A command that only one service has.
public typealias OwnCommand<Program: ServiceProgram> =
    @Sendable (
        Program, ServiceConfiguration, Logger
    ) async throws -> Void

extension ServiceProgram {
    public static var ownCommands: [String: OwnCommand<Self>] { [:] }
}

/// The common part of every service's `main`.
public enum ServiceMain {
    /// The first word of the command line; `serve` by default.
    private enum Command: String, CaseIterable {
        case serve, migrate, check
    }

    /// Reads the settings and runs a command of the service, then ends the process.
    ///
    /// Help goes to standard output. An error becomes one line on standard error and an exit status: 78 for wrong
    /// settings, 1 for all others.
    ///
    /// - Parameter more: the commands that need no settings.
    public static func run<Program: ServiceProgram>(
        _ program: Program.Type, more: [any ParsableCommand.Type] = []
    ) async -> Never {
        // Memory that a thread frees stays in its arena, and a service has dozens of threads.
        _ = mallopt(M_ARENA_MAX, 4)
        openManyFiles()
        var arguments = Array(ProcessInfo.processInfo.arguments.dropFirst())
        if let own = more.first(where: { $0.configuration.commandName == arguments.first }) {
            await own.runAndExit(Array(arguments.dropFirst()), as: "\(Program.name) \(arguments[0])")
        }
        do {
            if ["--version", "version"].contains(arguments.first) {
                print("\(Program.name) \(Version.current)")
                exit(0)
            }
            let names = Command.allCases.map(\.rawValue) + Program.ownCommands.keys.sorted()
            let command = arguments.first.flatMap { names.contains($0) ? $0 : nil }
            if command != nil { arguments.removeFirst() }
            let dotEnv = FileManager.default.contents(atPath: ".env") ?? Data()
            let request = try SettingsReader.read(
                service: Program.name, commands: names, arguments: arguments,
                environment: ProcessInfo.processInfo.environment,
                dotEnv: String(decoding: dotEnv, as: UTF8.self)
            ) { (ServiceConfiguration($0, port: Program.port), Program($0)) }
            switch request {
            case .help(let text): print(text)
            case .run((let configuration, let program)):
                let logger = logger(Program.name, configuration)
                if let own = command.flatMap({ Program.ownCommands[$0] }) {
                    try await own(program, configuration, logger)
                    exit(0)
                }
                switch command.flatMap({ Command(rawValue: $0) }) ?? .serve {
                case .serve: try await program.serve(configuration, logger: logger)
                case .migrate: try await program.migrate(configuration, logger: logger)
                case .check: try await program.check(configuration, logger: logger)
                }
            }
            exit(0)
        } catch {
            FileHandle.standardError.write(
                Data("\(Program.name): \(Redaction.apply(String(describing: error)))\n".utf8))
            exit(error is ConfigurationError ? ConfigurationError.exitStatus : 1)
        }
    }

    /// Raises the limit of open files. Its default is low, and a service needs one for each connection and transfer.
    private static func openManyFiles() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    private static func logger(_ service: String, _ configuration: ServiceConfiguration) -> Logger {
        Logger(label: service) { label in
            LogOutput(label: label, threshold: configuration.logThreshold, format: configuration.logFormat)
        }
    }
}
