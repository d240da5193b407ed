public import Foundation
public import Records
public import Testing

/// A test script for one aggregate in a data file: inputs with their times, and the expected results.
///
/// `source` is the source of the rule that the trace shows: a ``TraceSource``, or a list with the strongest first.
/// `steps` are its steps. The service's ``TraceScript`` defines the members for the start. `independent` is true if the
/// quote, the note and the inputs alone determine the outcome.
public struct Trace: Sendable, CustomTestStringConvertible {
    public let name: String
    public let document: JSON
    public let sources: [TraceSource]
    /// Whether the outcome can be written from the first source without the code.
    public let isIndependent: Bool
    public let steps: [TraceStep]
    public var testDescription: String { name }

    public init(_ name: String, _ document: JSON) throws(TraceFailed) {
        self.name = name
        self.document = document
        do { sources = try TraceSource.all(document["source"] ?? .null) } catch {
            throw TraceFailed(place: name, reasons: error.reasons)
        }
        guard let isIndependent = (document["independent"] ?? false).bool else {
            throw TraceFailed(place: name, reasons: ["independent is true or false"])
        }
        if isIndependent, let kind = sources.first?.kind, !kind.canBeIndependent {
            throw TraceFailed(place: name, reasons: ["\(kind) is no independent evidence"])
        }
        self.isIndependent = isIndependent
        steps = (document["steps"]?.items ?? []).map { TraceStep(document: $0) }
        guard !steps.isEmpty else { throw TraceFailed(place: name, reasons: ["needs steps"]) }
    }

    public subscript(_ member: String) -> JSON? { document[member] }

    /// Returns all traces in a folder, sorted by file name.
    ///
    /// - Throws: an error if there are fewer than `count`.
    public static func all(in folder: URL, atLeast count: Int) throws -> [Trace] {
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "json" }
        guard files.count >= count else {
            throw TraceFailed(place: folder.path, reasons: ["has only \(files.count) traces"])
        }
        return try files.sorted { $0.path < $1.path }.map {
            try Trace($0.deletingPathExtension().lastPathComponent, try JSON(parsing: Array(try Data(contentsOf: $0))))
        }
    }
}

/// One step of a trace.
///
/// A step names identifiers of the machine by aliases in the order of their appearance (`fetch-1`, `fetch-2`, …). It
/// gives times in seconds since the beginning, in documents as `"@130"`.
public struct TraceStep: Sendable {
    /// All members, including those that the service's ``TraceScript`` defines.
    public let document: JSON

    public init(document: JSON) { self.document = document }

    /// The seconds since the beginning.
    public var at: Double { document["at"]?.double ?? 0 }
    /// The input: a command, another service's event, `advance` to let only time pass, or `outage`, which began at the
    /// second `from` and ends now.
    public var action: String { document["do"]?.string ?? "" }
    public var app: String { document["app"]?.string ?? "" }
    /// The argument of the action: a word or a document.
    public var with: JSON { document["with"] ?? [:] }
    /// The expected events: the type of each without the service's name, or an object with the type and some of its
    /// members. The event's own second is `occurs`, or `at` if that is a number.
    public var events: [JSON] { document["events"]?.items ?? [] }
    /// The code of the expected refusal.
    public var refused: String? { document["refused"]?.string }

    public subscript(_ member: String) -> JSON? { document[member] }
}

/// A step of a trace failed.
public struct TraceFailed: Error, CustomStringConvertible {
    public let place: String
    public let reasons: [String]

    public init(place: String, reasons: [String]) {
        self.place = place
        self.reasons = reasons
    }

    public var description: String { "\(place): \(reasons.joined(separator: "; "))" }
}
