import LifecycleService
import ServiceKit

await ServiceMain.run(Lifecycle.name, port: Lifecycle.port, more: Lifecycle.settings) {
    command, configuration, logger in
    switch command {
    case .serve: try await Lifecycle.serve(configuration, logger: logger)
    case .migrate: try await Lifecycle.migrate(configuration, logger: logger)
    case .check: try await Lifecycle.check(configuration, logger: logger)
    }
}
