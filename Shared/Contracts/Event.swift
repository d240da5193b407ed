public import Foundation
public import Records
public import Timeline

/// An event of the log, in the model of CloudEvents 1.0. `partition` and `offset` are its position.
public struct Event: Sendable, Equatable {
    /// The type of an event whose content was erased. It keeps its place in the log, and its data is empty.
    public static let erasedType = "log.event.erased"

    /// A UUIDv7.
    public var id: UUID
    /// The name of the service.
    public var source: String
    public var type: String
    public var version: Int
    public var key: AggregateKey
    public var app: String?
    /// The suite time of the event.
    public var time: Instant
    /// The id that all events of one first cause share: the id of its first event, or one that the client gave.
    public var correlation: UUID
    /// The id of the event that caused this one; nil if a command or a deadline caused it.
    public var causation: UUID?
    public var traceparent: String?
    /// The sender of the command that caused it, such as `operator:alice`; nil if another event or a deadline caused it.
    public var actor: String?
    /// JSON text with sorted members. An event with its data in memory encodes it at each access.
    public var data: [UInt8] {
        get {
            switch content {
            case .json(let text): text
            case .memory(let emitted): emitted.data.jsonBytes
            }
        }
        set { content = .json(newValue) }
    }
    public var partition = 0
    /// The number of the event in its partition, from 1 without gaps; 0 until it is appended.
    public var offset = 0
    private var content: Content

    private enum Content: Sendable {
        case json([UInt8])
        case memory(any EmittedData)
    }

    /// The data in memory; nil for an event that was read from a log.
    public var emitted: (any EmittedData)? {
        guard case .memory(let emitted) = content else { return nil }
        return emitted
    }

    /// Creates an event without a position.
    public init(
        id: UUID, source: String, type: String, version: Int, key: AggregateKey, app: String?, time: Instant,
        correlation: UUID, causation: UUID?, traceparent: String?, actor: String? = nil, data: [UInt8]
    ) {
        self.id = id
        self.source = source
        self.type = type
        self.version = version
        self.key = key
        self.app = app
        self.time = time
        self.correlation = correlation
        self.causation = causation
        self.traceparent = traceparent
        self.actor = actor
        content = .json(data)
    }

    /// Creates an event without a position, with its data in memory. Nothing is encoded before ``data`` is needed.
    public init<F: EventFamily>(
        id: UUID, emitted: Emitted<F>, key: AggregateKey, time: Instant, correlation: UUID, causation: UUID?,
        traceparent: String?, actor: String? = nil
    ) {
        let data = emitted.family.data
        self.id = id
        source = F.source
        type = Swift.type(of: data).type
        version = Swift.type(of: data).version
        self.key = key
        app = data.app
        self.time = time
        self.correlation = correlation
        self.causation = causation
        self.traceparent = traceparent
        self.actor = actor
        content = .memory(emitted)
    }

    public static func == (left: Event, right: Event) -> Bool {
        left.id == right.id && left.source == right.source && left.type == right.type && left.version == right.version
            && left.key == right.key && left.app == right.app && left.time == right.time
            && left.correlation == right.correlation && left.causation == right.causation
            && left.traceparent == right.traceparent && left.actor == right.actor && left.data == right.data
            && left.partition == right.partition && left.offset == right.offset
    }

    /// Appends the id with its time, the type and the data. The id derives from the key, the input and all earlier ids of the
    /// decision, so different events have different bytes.
    public func write(to binary: inout BinaryWriter) {
        withUnsafeBytes(of: id.uuid) { binary.append(contentsOf: $0) }
        type.write(to: &binary)
        switch content {
        case .json(let text): binary.append(contentsOf: text)
        case .memory(let emitted): emitted.data.write(to: &binary)
        }
    }

    /// `<key>` or `<key>/<app>`.
    public var subject: String { app.map { "\(key)/\($0)" } ?? key.description }

    /// The CloudEvents JSON form. Equal events have equal bytes.
    public var cloudEvent: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            if let actor { json.member("actor") { $0.write(actor) } }
            if let causation { json.member("causationid") { $0.write(causation.lowercased) } }
            json.member("correlationid") { $0.write(correlation.lowercased) }
            json.member("data") { $0.append(raw: data) }
            json.member("datacontenttype") { $0.write("application/json") }
            json.member("dataschema") { $0.write("urn:dormouse:\(type):\(version)") }
            json.member("id") { $0.write(id.lowercased) }
            json.member("offset") { $0.write(String(offset)) }
            json.member("partition") { $0.write(partition) }
            json.member("source") { $0.write("/" + source) }
            json.member("specversion") { $0.write("1.0") }
            json.member("subject") { $0.write(subject) }
            json.member("time") { time.write(to: &$0) }
            if let traceparent { json.member("traceparent") { $0.write(traceparent) } }
            json.member("type") { $0.write(type) }
        }
        return json.bytes
    }
}

/// The data of an event in memory.
public protocol EmittedData: AnyObject, Sendable {
    var data: any EventData { get }
}

/// An event of a service in memory. A reference, because its copies in queues are many.
public final class Emitted<Family: EventFamily>: EmittedData {
    public let family: Family

    public init(_ family: Family) { self.family = family }

    public var data: any EventData { family.data }
}

extension UUID {
    /// The last eight bytes. Of a UUIDv7, they are random.
    public var lowerHalf: UInt64 {
        withUnsafeBytes(of: uuid) { UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)) }
    }

    /// The lower-case text of RFC 9562.
    public var lowercased: String {
        String(unsafeUninitializedCapacity: 36) {
            writeLowercased(to: UnsafeMutableRawBufferPointer($0))
            return 36
        }
    }

    /// Writes the 36 bytes of the lower-case text.
    func writeLowercased(to text: UnsafeMutableRawBufferPointer) {
        let digits: StaticString = "0123456789abcdef"
        withUnsafeBytes(of: uuid) { bytes in
            var index = 0
            for (number, byte) in bytes.enumerated() {
                if number == 4 || number == 6 || number == 8 || number == 10 {
                    text[index] = UInt8(ascii: "-")
                    index += 1
                }
                text[index] = digits.utf8Start[Int(byte >> 4)]
                text[index + 1] = digits.utf8Start[Int(byte & 0x0F)]
                index += 2
            }
        }
    }

    /// Returns a UUIDv4. On Linux, `UUID()` of Foundation opens a file for each UUID.
    public static func random() -> UUID {
        var generator = SystemRandomNumberGenerator()
        var bytes = (generator.next(), generator.next())
        return withUnsafeMutableBytes(of: &bytes) { bytes in
            bytes[6] = bytes[6] & 0x0F | 0x40
            bytes[8] = bytes[8] & 0x3F | 0x80
            return UUID(uuid: bytes.load(as: uuid_t.self))
        }
    }

    /// Returns a UUIDv7 with 74 random bits. Ids of later times are greater, so an index grows at its end.
    public static func ascending(at now: Instant = RealClock().now) -> UUID {
        withUnsafeBytes(of: random().uuid) { UUID(version7: now, random: $0) }
    }
}
