public import Records

/// The data of one event type. The meaning of a type and version never changes.
public protocol EventData: Record, Equatable {
    /// `<service>.<thing>.<past participle>`.
    static var type: String { get }
    /// The version of the event type, from 1.
    static var version: Int { get }
    /// The sentence of the event catalogue.
    static var summary: String { get }
    /// The app of the event; nil if the event has none.
    var app: String? { get }
}

extension EventData {
    public static var version: Int { 1 }
    public var app: String? { nil }
}

/// The events of one service.
public protocol EventFamily: Sendable, Equatable {
    /// The name of the service. It is the `source` of the events and the first part of their types.
    static var source: String { get }
    /// The event types of the family.
    static var catalogue: [EventKind<Self>] { get }
    /// The data of the event.
    var data: any EventData { get }
}

/// One event type of a family.
public struct EventKind<Family: EventFamily>: Sendable {
    public let type: String
    public let version: Int
    public let summary: String
    /// Returns the JSON Schema of the data.
    public let schema: @Sendable () -> JSON
    let decode: @Sendable ([UInt8]) throws(DocumentError) -> Family

    /// Creates the description of an event type. `embed` makes an event of the family from its data.
    public init<D: EventData>(_ embed: @escaping @Sendable (D) -> Family) {
        type = D.type
        version = D.version
        summary = D.summary
        schema = { D.schema }
        decode = { (bytes) throws(DocumentError) in embed(try D(jsonBytes: bytes, lenient: true)) }
    }
}

/// The reason why a process can't read an event of the log.
public enum ContractError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Newer code wrote the event. The consumer stops until it is updated. The event never becomes a dead letter.
    case newerVersion(type: String, version: Int, known: Int)
    case unknownType(String)
    case malformed(type: String, DocumentError)

    public var description: String {
        switch self {
        case .newerVersion(let type, let version, let known):
            "\(type) has version \(version), but this process supports versions up to \(known): update the process"
        case .unknownType(let type): "\(type) is not in the event catalogue"
        case .malformed(let type, let error): "\(type) can't be read: \(error)"
        }
    }
}

extension EventFamily {
    /// Reads the data of an event. Does not decode data in memory.
    public init(_ event: Event) throws(ContractError) {
        if let emitted = event.emitted as? Emitted<Self> {
            self = emitted.family
        } else {
            try self.init(type: event.type, version: event.version, data: event.data)
        }
    }

    /// Reads the data of an event.
    public init(type: String, version: Int, data: [UInt8]) throws(ContractError) {
        guard let kind = Self.catalogue.first(where: { $0.type == type }) else { throw .unknownType(type) }
        guard version <= kind.version else {
            throw .newerVersion(type: type, version: version, known: kind.version)
        }
        do { self = try kind.decode(data) } catch { throw .malformed(type: type, error) }
    }
}
