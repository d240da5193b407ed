import ServiceKit
import TransferService

await ServiceMain.run(Transfer.name, port: Transfer.port, more: Transfer.settings) { command, configuration, logger in
    switch command {
    case .serve: try await Transfer.serve(configuration, logger: logger)
    case .migrate: try await Transfer.migrate(configuration, logger: logger)
    case .check: try await Transfer.check(configuration, logger: logger)
    }
}
