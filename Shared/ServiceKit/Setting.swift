/// One thing that can be set, by `--flag`, environment, or `.env`, all under the same name.
public struct Setting: Sendable {
    /// The name in the environment; the flag is the same in kebab case.
    public let name: String
    /// Nil where the setting has none and may be left unset.
    public let standard: String?
    public let summary: String
    /// Whether the flag stands alone, without a value.
    public let isSwitch: Bool
    /// Completes "must be …" where a value is refused.
    let words: String
    let accepts: @Sendable (String) -> Bool

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

    /// A whole number in a range.
    public static func number(
        _ name: String, _ standard: Int?, _ range: ClosedRange<Int>, _ summary: String
    ) -> Setting {
        Setting(
            name, standard.map(String.init), summary, mustBe: "a number from \(range.lowerBound) to \(range.upperBound)"
        ) { Int($0).map(range.contains) ?? false }
    }

    /// One of some words.
    public static func choice(_ name: String, _ standard: String, _ words: [String], _ summary: String) -> Setting {
        Setting(name, standard, summary, mustBe: words.joined(separator: ", ")) { words.contains($0) }
    }

    /// True or false; as a flag it stands alone.
    public static func flag(_ name: String, _ summary: String) -> Setting {
        Setting(name, "false", summary, isSwitch: true, mustBe: "true or false") { $0 == "true" || $0 == "false" }
    }

    /// For example `--database-url`.
    public var flag: String { "--" + name.lowercased().split(separator: "_").joined(separator: "-") }
}

/// A wrong setting, in one line that says what to do. The process exits with 78 (`EX_CONFIG` of sysexits.h).
public struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
    public static let exitStatus: Int32 = 78
    public let description: String

    public init(_ description: String) { self.description = description }
}
