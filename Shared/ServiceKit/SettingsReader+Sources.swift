import HTTPKit

/// The answer to a command line.
public enum SettingsRequest<Value> {
    /// Run with these settings.
    case run(Value)
    /// Print this text of `--help`.
    case help(String)
}

extension SettingsReader {
    /// Reads settings. Flags override the environment, then `.env`, then the defaults.
    ///
    /// - Parameters:
    ///   - commands: the commands that the help lists.
    ///   - arguments: the command line without the program's name and the command.
    ///   - dotEnv: the text of the `.env` file; empty if there is none.
    ///   - declare: reads the settings. It is called twice, first to list them.
    /// - Throws: the first fault.
    public static func read<Value>(
        service: String, commands: [String] = ["serve", "migrate", "check"], arguments: [String],
        environment: [String: String], dotEnv: String = "",
        _ declare: (SettingsReader) -> Value
    ) throws(ConfigurationError) -> SettingsRequest<Value> {
        let listed = SettingsReader()
        _ = declare(listed)
        guard let flags = try flags(arguments, listed.settings) else {
            return .help(help(service: service, commands, listed.settings))
        }
        let file = try parse(dotEnv: dotEnv)
        // Compose files set an empty variable to leave it unset.
        let variables = file.merging(environment) { $1 }.filter { !$0.value.isEmpty }
        let reader = SettingsReader(variables.merging(flags) { $1 })
        let value = declare(reader)
        if let fault = reader.fault { throw fault }
        return .run(value)
    }

    private static func help(service: String, _ commands: [String], _ settings: [Setting]) -> String {
        let width = settings.map(\.flag.count).max() ?? 0
        let lines = settings.map { setting in
            let name = setting.flag + String(repeating: " ", count: width - setting.flag.count)
            let notes = [setting.range, setting.standard.map { "default \($0)" }].compactMap(\.self)
            return "  \(name)  \(setting.summary)" + (notes.isEmpty ? "" : " (\(notes.joined(separator: ", ")))")
        }
        return """
            Usage: \(service) [\(commands.joined(separator: "|"))] [options]
                   \(service) --version

            The environment and .env can also set each option, in capitals with underscores: PORT for --port.

            \(lines.joined(separator: "\n"))
            """
    }

    /// Reads `--name value`, `--name=value` and switches; returns nil for `--help` and `-h`.
    private static func flags(
        _ arguments: [String], _ settings: [Setting]
    ) throws(ConfigurationError) -> [String: String]? {
        var flags: [String: String] = [:]
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--help" || argument == "-h" { return nil }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let setting = settings.first(where: { $0.flag == parts[0] }) else {
                throw ConfigurationError("\(parts[0]) is not an option; --help lists them")
            }
            guard flags[setting.name] == nil else { throw ConfigurationError("\(setting.flag) is given twice") }
            if parts.count == 2 {
                flags[setting.name] = parts[1]
            } else if setting.isSwitch {
                flags[setting.name] = "true"
            } else if let value = rest.popFirst() {
                flags[setting.name] = value
            } else {
                throw ConfigurationError("\(setting.flag) needs a value")
            }
        }
        return flags
    }

    /// Reads `NAME=value` lines: removes quotes around a value, and skips comments and empty lines. Unknown names are
    /// allowed, because other programs may use the same file.
    private static func parse(dotEnv text: String) throws(ConfigurationError) -> [String: String] {
        var values: [String: String] = [:]
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = line.trimmed()
            if line.isEmpty || line.hasPrefix("#") { continue }
            guard let equals = line.firstIndex(of: "="), equals != line.startIndex else {
                throw ConfigurationError(".env, line \(index + 1): expected NAME=value")
            }
            var value = line[line.index(after: equals)...].trimmed()
            if value.count >= 2, let quote = value.first, quote == "\"" || quote == "'", value.last == quote {
                value = String(value.dropFirst().dropLast())
            }
            let name = line[..<equals].trimmed()
            values[name.hasPrefix("export ") ? name.dropFirst(7).trimmed() : name] = value
        }
        return values
    }
}
