import PushService
import ServiceKit

await ServiceMain.run(Push.name, port: Push.port, more: Push.settings) { command, configuration, logger in
    switch command {
    case .serve: try await Push.serve(configuration, logger: logger)
    case .migrate: try await Push.migrate(configuration, logger: logger)
    }
}
