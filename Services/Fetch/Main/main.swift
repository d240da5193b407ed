import FetchService
import ServiceKit

await ServiceMain.run(Fetch.name, port: Fetch.port, more: Fetch.settings) { command, configuration, logger in
    switch command {
    case .serve: try await Fetch.serve(configuration, logger: logger)
    case .migrate: try await Fetch.migrate(configuration, logger: logger)
    }
}
