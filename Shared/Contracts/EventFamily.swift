public import Records

/// The data of one type of event: what the log keeps for good, under a name and a version whose meaning never changes.
public protocol EventData: Record, Equatable {
    /// `<service>.<thing>.<past participle>`.
    static var type: String { get }
    static var version: Int { get }
    /// One sentence for the catalogue.
    static var summary: String { get }
    /// The app that it is about, where it is about one.
    var app: String? { get }
}

extension EventData {
    public static var version: Int { 1 }
    public var app: String? { nil }
}

/// All events of one service.
public protocol EventFamily: Sendable, Equatable {
    /// The service: the events' `source`, and the first word of their types.
    static var source: String { get }
    static var catalogue: [EventKind<Self>] { get }
    var data: any EventData { get }
}

/// One type of event within its family.
public struct EventKind<Family: EventFamily>: Sendable {
    public let type: String
    public let version: Int
    public let summary: String
    public let schema: @Sendable () -> JSON
    let decode: @Sendable ([UInt8]) throws(DocumentError) -> Family

    public init<D: EventData>(_ embed: @escaping @Sendable (D) -> Family) {
        type = D.type
        version = D.version
        summary = D.summary
        schema = { D.schema }
        decode = { (bytes) throws(DocumentError) in embed(try D(jsonBytes: bytes, lenient: true)) }
    }
}

/// Why an event of the log can't be understood.
public enum ContractError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Written by newer code: a consumer stops and waits for its own update; this is never a dead letter.
    case newerVersion(type: String, version: Int, known: Int)
    case unknownType(String)
    case malformed(type: String, DocumentError)

    public var description: String {
        switch self {
        case .newerVersion(let type, let version, let known):
            "\(type) is in version \(version); this process knows versions up to \(known): update it"
        case .unknownType(let type): "\(type) is not in the catalogue"
        case .malformed(let type, let error): "\(type) can't be read: \(error)"
        }
    }
}

extension EventFamily {
    public init(type: String, version: Int, data: [UInt8]) throws(ContractError) {
        guard let kind = Self.catalogue.first(where: { $0.type == type }) else { throw .unknownType(type) }
        guard version <= kind.version else {
            throw .newerVersion(type: type, version: version, known: kind.version)
        }
        do { self = try kind.decode(data) } catch { throw .malformed(type: type, error) }
    }
}
