public import Foundation
public import Records
public import Testing

/// A story of one aggregate, as a data file: what happens when, and what must come of it.
///
/// It has a `source`, where the rule that it shows is written; its `steps`; and whichever members the service's
/// ``TraceScript`` knows for how it begins.
public struct Trace: Sendable, CustomTestStringConvertible {
    public let name: String
    public let document: JSON
    public let steps: [TraceStep]
    public var testDescription: String { name }

    public init(_ name: String, _ document: JSON) throws(TraceFailed) {
        self.name = name
        self.document = document
        steps = (document["steps"]?.items ?? []).map { TraceStep(document: $0) }
        guard document["source"]?.string?.isEmpty == false, !steps.isEmpty else {
            throw TraceFailed(place: name, reasons: ["needs a source and steps"])
        }
    }

    public subscript(_ member: String) -> JSON? { document[member] }

    /// All traces of a bundle's folder `Traces`, by the names of their files.
    ///
    /// - Throws: where there are fewer than there once were.
    public static func all(in bundle: Bundle, atLeast count: Int) throws -> [Trace] {
        let files = (bundle.urls(forResourcesWithExtension: "json", subdirectory: "Traces") ?? []).map { $0 as URL }
        guard files.count >= count else {
            throw TraceFailed(place: bundle.bundlePath, reasons: ["has only \(files.count) traces"])
        }
        return try files.sorted { $0.path < $1.path }.map {
            try Trace($0.deletingPathExtension().lastPathComponent, try JSON(parsing: Array(try Data(contentsOf: $0))))
        }
    }
}

/// One moment of a trace.
///
/// Identifiers that the machine makes up go by the aliases that they get when they appear (`fetch-1`, `fetch-2`, …);
/// moments go by their seconds after the beginning, in documents as `"@130"`.
public struct TraceStep: Sendable {
    /// With whichever members the service's ``TraceScript`` knows besides those below.
    public let document: JSON

    public init(document: JSON) { self.document = document }

    /// Seconds after the beginning.
    public var at: Double { document["at"]?.double ?? 0 }
    /// What happens: a command, another service's event, `advance` for time alone, or `outage`, which ends then and began at
    /// the second `from`.
    public var action: String { document["do"]?.string ?? "" }
    public var app: String { document["app"]?.string ?? "" }
    /// A word or document that the action takes.
    public var with: JSON { document["with"] ?? [:] }
    /// The events that follow: for each its type without the service's name, and any of its members; or the type alone. Its
    /// own second is `occurs`, or a number called `at`.
    public var events: [JSON] { document["events"]?.items ?? [] }
    /// The code of the refusal that follows instead.
    public var refused: String? { document["refused"]?.string }

    public subscript(_ member: String) -> JSON? { document[member] }
}

/// A trace did not come out.
public struct TraceFailed: Error, CustomStringConvertible {
    public let place: String
    public let reasons: [String]

    public init(place: String, reasons: [String]) {
        self.place = place
        self.reasons = reasons
    }

    public var description: String { "\(place): \(reasons.joined(separator: "; "))" }
}
