import Foundation
import PushService
import ServiceKit

let arguments = ProcessInfo.processInfo.arguments.dropFirst()
if arguments.first == ClientCertificateCommand.name {
    ClientCertificateCommand.run(Array(arguments.dropFirst()))
}

await ServiceMain.run(Push.name, port: Push.port, more: Push.settings) { command, configuration, logger in
    switch command {
    case .serve: try await Push.serve(configuration, logger: logger)
    case .migrate: try await Push.migrate(configuration, logger: logger)
    case .check: try await Push.check(configuration, logger: logger)
    }
}
