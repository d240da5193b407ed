/// A setting that the command line, the environment or `.env` can give.
public struct Setting: Sendable {
    /// The name in the environment; the flag is the same in kebab case.
    public let name: String
    /// The default; nil for a setting that may stay unset.
    public let standard: String?
    /// The help text.
    public let summary: String
    /// Whether the flag has no value.
    public let isSwitch: Bool
    /// Completes "must be …" in the error for an invalid value.
    let words: String
    let accepts: @Sendable (String) -> Bool

    /// Creates a setting with any check of its value.
    public init(
        _ name: String, _ standard: String? = nil, _ summary: String, isSwitch: Bool = false,
        mustBe words: String = "text that is not empty", accepts: @escaping @Sendable (String) -> Bool = { !$0.isEmpty }
    ) {
        self.name = name
        self.standard = standard
        self.summary = summary
        self.isSwitch = isSwitch
        self.words = words
        self.accepts = accepts
    }

    /// Returns a setting for a whole number in a range.
    public static func number(
        _ name: String, _ standard: Int?, _ range: ClosedRange<Int>, _ summary: String
    ) -> Setting {
        Setting(
            name, standard.map(String.init), summary, mustBe: "a number from \(range.lowerBound) to \(range.upperBound)"
        ) { Int($0).map(range.contains) ?? false }
    }

    /// Returns a setting for one of the given words.
    public static func choice(_ name: String, _ standard: String, _ words: [String], _ summary: String) -> Setting {
        Setting(name, standard, summary, mustBe: "one of " + words.joined(separator: ", ")) { words.contains($0) }
    }

    /// Returns a setting for `true` or `false`; its flag has no value.
    public static func flag(_ name: String, _ summary: String) -> Setting {
        Setting(name, "false", summary, isSwitch: true, mustBe: "true or false") { $0 == "true" || $0 == "false" }
    }

    /// The flag, for example `--database-url`.
    public var flag: String { "--" + name.lowercased().split(separator: "_").joined(separator: "-") }
}

/// An invalid setting, described in one line with the remedy. The process exits with 78 (`EX_CONFIG` of sysexits.h).
public struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
    public static let exitStatus: Int32 = 78
    public let description: String

    public init(_ description: String) { self.description = description }
}
