import ServiceKit

extension ServiceConfiguration {
    /// Reads a command line of the test service.
    static func reading(_ arguments: String...) throws -> ServiceConfiguration { try reading(arguments) }

    static func reading(_ arguments: [String]) throws -> ServiceConfiguration {
        let request = try SettingsReader.read(service: "naps", arguments: arguments, environment: [:]) {
            ServiceConfiguration($0, port: 8099)
        }
        guard case .run(let configuration) = request else { throw ConfigurationError("help") }
        return configuration
    }
}
