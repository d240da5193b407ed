import FetchService
import Foundation
import ServiceKit

let arguments = ProcessInfo.processInfo.arguments.dropFirst()
if arguments.first == Habits.command { Habits.run(Array(arguments.dropFirst())) }

await ServiceMain.run(Fetch.name, port: Fetch.port, more: Fetch.settings) { command, configuration, logger in
    switch command {
    case .serve: try await Fetch.serve(configuration, logger: logger)
    case .migrate: try await Fetch.migrate(configuration, logger: logger)
    case .check: try await Fetch.check(configuration, logger: logger)
    }
}
