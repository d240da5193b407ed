import OpsService
import ServiceKit

await ServiceMain.run(Ops.name, port: Ops.port, more: Ops.settings) { command, configuration, logger in
    switch command {
    case .serve: try await Ops.serve(configuration, logger: logger)
    case .migrate: try await Ops.migrate(configuration, logger: logger)
    case .check: try await Ops.check(configuration, logger: logger)
    }
}
