/// A setting that the command line, the environment or `.env` can give.
public struct Setting: Sendable {
    /// The name in the environment; the flag is the same in kebab case.
    public let name: String
    /// The default; nil for a setting that may stay unset.
    public let standard: String?
    /// The valid values; nil for text.
    public let range: String?
    /// The help text.
    public let summary: String
    /// Whether the flag has no value.
    public let isSwitch: Bool

    /// The flag, for example `--database-url`.
    public var flag: String { Self.flag(name) }

    /// The name and the flag of a setting, for error messages.
    public static func label(_ name: String) -> String { "\(name) (\(flag(name)))" }

    private static func flag(_ name: String) -> String { "--" + name.lowercased().replacing("_", with: "-") }
}

/// An invalid setting, described in one line with the remedy. The process exits with 78 (`EX_CONFIG` of sysexits.h).
public struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
    public static let exitStatus: Int32 = 78
    public let description: String

    public init(_ description: String) { self.description = description }
}
