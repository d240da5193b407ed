import Foundation
public import Logging
import Records
import Timeline

/// The format of log lines.
public enum LogFormat: String, Sendable, CaseIterable {
    /// One JSON object a line, with members sorted by name.
    case json
    /// Text for people, with colour on a terminal.
    case pretty
    /// `pretty` on a terminal, else `json`.
    case auto
}

/// Writes log lines to standard error by default.
///
/// It replaces secrets: values under names such as `password` or `token`, passwords in URLs, and bearer credentials.
public struct LogOutput: LogHandler {
    public var metadata: Logger.Metadata = [:]
    public var metadataProvider: Logger.MetadataProvider?
    /// Shared by all copies: each request has a copy of the logger.
    private let form: Form
    /// Shared by all copies too.
    private let threshold: LogThreshold
    /// The level of this copy; nil for that of the process.
    private var ownLevel: Logger.Level?

    public var logLevel: Logger.Level {
        get { ownLevel ?? threshold.level }
        set { ownLevel = newValue }
    }

    private final class Form: Sendable {
        let label: String
        let isPretty: Bool
        let hasColour: Bool
        let write: @Sendable (String) -> Void

        init(_ label: String, isPretty: Bool, hasColour: Bool, _ write: @escaping @Sendable (String) -> Void) {
            (self.label, self.isPretty, self.hasColour, self.write) = (label, isPretty, hasColour, write)
        }
    }

    /// - Parameters:
    ///   - threshold: the level of the process.
    ///   - write: writes a line, which includes its line end.
    public init(
        label: String, threshold: LogThreshold, format: LogFormat,
        write: @escaping @Sendable (String) -> Void = LogOutput.standardError
    ) {
        self.threshold = threshold
        let hasColour = isatty(STDERR_FILENO) == 1
        form = Form(
            label, isPretty: format == .pretty || format == .auto && hasColour, hasColour: hasColour, write)
    }

    /// - Parameters:
    ///   - level: the level, which does not change.
    ///   - write: writes a line, which includes its line end.
    public init(
        label: String, level: Logger.Level, format: LogFormat,
        write: @escaping @Sendable (String) -> Void = LogOutput.standardError
    ) { self.init(label: label, threshold: LogThreshold(level), format: format, write: write) }

    /// Writes to standard error.
    public static let standardError: @Sendable (String) -> Void = { FileHandle.standardError.write(Data($0.utf8)) }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        var all = metadataProvider?.get() ?? [:]
        all.merge(metadata) { $1 }
        all.merge(event.metadata ?? [:]) { $1 }
        if let error = event.error { all[LogKey.error] = .string(String(describing: error)) }
        let message = Redaction.apply(event.message.description)
        let members = all.map { JSON.Member($0.key, Redaction.apply($0.value, under: $0.key)) }
        let time = RealClock().now.description
        form.write(
            (form.isPretty ? pretty(event.level, time, message, members) : json(event.level, time, message, members))
                + "\n")
    }

    private func json(_ level: Logger.Level, _ time: String, _ message: String, _ members: [JSON.Member]) -> String {
        let own: Set = ["time", "level", "service", "message"]
        let line = JSON.object(
            [
                JSON.Member("time", .string(time)), JSON.Member("level", .string(level.rawValue)),
                JSON.Member("service", .string(form.label)), JSON.Member("message", .string(message)),
            ] + members.filter { !own.contains($0.name) })
        return String(decoding: line.bytes, as: UTF8.self)
    }

    private func pretty(_ level: Logger.Level, _ time: String, _ message: String, _ members: [JSON.Member]) -> String {
        let rest = members.sorted { $0.name < $1.name }.map { member in
            " \(member.name)=\(member.value.string ?? String(decoding: member.value.bytes, as: UTF8.self))"
        }
        let word = level.rawValue.uppercased()
        let padded = word + String(repeating: " ", count: max(0, 8 - word.count))
        // A line end in a message would let input forge log lines.
        let body = (message + rest.joined()).split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        return "\(time.dropFirst(11)) \(form.hasColour ? level.colour + padded + "\u{1B}[0m" : padded) "
            + body.joined(separator: "\\n")
    }
}

extension Logger.Level {
    fileprivate var colour: String {
        switch self {
        case .trace, .debug: "\u{1B}[2m"
        case .info, .notice: "\u{1B}[32m"
        case .warning: "\u{1B}[33m"
        case .error, .critical: "\u{1B}[31m"
        }
    }
}

/// Replaces secrets in log lines.
public enum Redaction {
    private static let secretWords = ["authorization", "token", "password", "secret", "credential", "key", "cookie"]

    static func apply(_ value: Logger.MetadataValue, under name: String) -> JSON {
        let name = name.lowercased()
        guard !secretWords.contains(where: name.hasSuffix) else { return "[redacted]" }
        switch value {
        case .string(let text): return .string(apply(text))
        case .stringConvertible(let thing): return .string(apply(thing.description))
        case .array(let items): return .array(items.map { apply($0, under: "") })
        case .dictionary(let members):
            return .object(members.map { JSON.Member($0.key, apply($0.value, under: $0.key)) })
        }
    }

    /// Returns the text without passwords in URLs and without bearer credentials.
    public static func apply(_ text: String) -> String {
        guard text.contains("://") || text.contains("earer ") else { return text }
        return
            text
            .replacing(/:\/\/([^:@\/\s]*):[^@\/\s]*@/) { "://\($0.output.1):[redacted]@" }
            .replacing(/([Bb]earer) [^\s"']+/) { "\($0.output.1) [redacted]" }
    }
}
