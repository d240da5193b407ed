import HTTPKit

extension ServiceConfiguration {
    /// Reads `--name value`, `--name=value` and switches; returns `HELP` for `--help` and `-h`.
    static func flags(_ arguments: [String], _ settings: [Setting]) throws(ConfigurationError) -> [String: String] {
        var flags: [String: String] = [:]
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--help" || argument == "-h" { return ["HELP": ""] }
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
    static func parse(dotEnv text: String) throws(ConfigurationError) -> [String: String] {
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

    /// Returns the text of `--help`.
    static func help(service: String, _ settings: [Setting]) -> String {
        let width = settings.map(\.flag.count).max() ?? 0
        let lines = settings.map { setting in
            let name = setting.flag + String(repeating: " ", count: width - setting.flag.count)
            return "  \(name)  \(setting.summary)" + (setting.standard.map { " (default \($0))" } ?? "")
        }
        return """
            Usage: \(service) [serve|migrate|check] [options]

            The environment and .env can also set each option, in capitals with underscores: PORT for --port.

            \(lines.joined(separator: "\n"))
            """
    }

    /// Returns the settings as a Markdown table, for a README.
    public static func markdown(port: Int, more: [Setting] = []) -> String {
        let rows = (settings(port: port) + more).map { setting in
            "| `\(setting.name)` | `\(setting.flag)` | \(setting.standard.map { "`\($0)`" } ?? "") | \(setting.summary) |"
        }
        return (["| Variable | Flag | Default | Meaning |", "|---|---|---|---|"] + rows).joined(separator: "\n")
    }
}
