import Foundation

/// Reads settings. Each call of a method declares one setting: its name, type, default, range and help text.
///
/// An initialiser that takes a reader only reads settings, because `--help` calls it to list them.
public final class SettingsReader {
    /// The settings that were read, in the order of `--help`.
    public private(set) var settings: [Setting] = []
    /// The first fault. A setting with a fault has its default.
    private(set) var fault: ConfigurationError?
    private let values: [String: String]

    /// Creates a reader of values by the names of their settings. Settings without a value have their defaults.
    public init(_ values: [String: String] = [:]) { self.values = values }

    /// Reads a setting with any check of its value.
    ///
    /// - Parameters:
    ///   - standard: the default; `shown` is its text in `--help`, and `range` describes the valid values there.
    ///   - words: completes "must be …" in the error for an invalid value.
    ///   - parse: returns nil for an invalid value.
    public func value<Value>(
        _ name: String, _ standard: Value, shown: String?, range: String? = nil, _ summary: String,
        isSwitch: Bool = false, mustBe words: String, parse: (String) -> Value?
    ) -> Value {
        settings.append(Setting(name: name, standard: shown, range: range, summary: summary, isSwitch: isSwitch))
        guard let text = values[name] else { return standard }
        let value = parse(text)
        require(value != nil, "\(Setting.label(name)) must be \(words)")
        return value ?? standard
    }

    /// Reads a setting that may stay unset, with any check of its value.
    public func value<Value>(
        _ name: String, _ summary: String, mustBe words: String, parse: (String) -> Value?
    ) -> Value? {
        value(name, nil, shown: nil, summary, mustBe: words) { parse($0).map(Optional.some) }
    }

    /// Reads text that is not empty.
    public func text(_ name: String, _ standard: String, _ summary: String) -> String {
        value(name, standard, shown: standard, summary, mustBe: Self.text, parse: Self.filled)
    }

    /// Reads text that may stay unset.
    public func text(_ name: String, _ summary: String) -> String? {
        value(name, summary, mustBe: Self.text, parse: Self.filled)
    }

    /// Reads a whole number in a range.
    public func number(_ name: String, _ standard: Int, _ range: ClosedRange<Int>, _ summary: String) -> Int {
        let words = "\(range.lowerBound) to \(range.upperBound)"
        return value(
            name, standard, shown: String(standard), range: words, summary, mustBe: "a number from " + words
        ) { text in Int(text).flatMap { range.contains($0) ? $0 : nil } }
    }

    /// Reads a whole number in a range that may stay unset.
    public func number(_ name: String, _ range: ClosedRange<Int>, _ summary: String) -> Int? {
        let words = "\(range.lowerBound) to \(range.upperBound)"
        return value(name, nil, shown: nil, range: words, summary, mustBe: "a number from " + words) { text in
            Int(text).flatMap { range.contains($0) ? .some($0) : nil }
        }
    }

    /// Reads one of the words of a type.
    public func choice<Value: RawRepresentable<String> & CaseIterable>(
        _ name: String, _ standard: Value, _ summary: String
    ) -> Value {
        let words = Value.allCases.map(\.rawValue)
        return value(
            name, standard, shown: standard.rawValue, range: words.joined(separator: "|"), summary,
            mustBe: "one of " + words.joined(separator: ", ")
        ) { Value(rawValue: $0) }
    }

    /// Reads `true` or `false`; the flag has no value.
    public func flag(_ name: String, _ summary: String) -> Bool {
        value(name, false, shown: "false", summary, isSwitch: true, mustBe: "true or false") { Bool($0) }
    }

    /// Reads the name of a file with a secret.
    public func secret(_ name: String, _ summary: String) -> SecretFile {
        SecretFile(setting: name, path: text(name, summary))
    }

    /// Records a fault unless a condition holds.
    public func require(_ condition: Bool, _ fault: @autoclosure () -> String) {
        if !condition, self.fault == nil { self.fault = ConfigurationError(fault()) }
    }

    private static let text = "text that is not empty"

    private static func filled(_ text: String) -> String? { text.isEmpty ? nil : text }
}

/// The file of a `…_FILE` setting.
public struct SecretFile: Sendable {
    let setting: String
    let path: String?

    /// Returns the text of the file without the last line end; nil if the setting is unset.
    ///
    /// - Throws: an error if the file can't be read.
    public func read() throws(ConfigurationError) -> String? {
        guard let path else { return nil }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ConfigurationError("\(setting): cannot read the file that it names")
        }
        let text = String(decoding: data, as: UTF8.self)
        return text.last?.isNewline == true ? String(text.dropLast()) : text
    }
}
