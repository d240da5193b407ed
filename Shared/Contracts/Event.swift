public import Foundation
import Records
public import Timeline

/// An event of the log, in the model of CloudEvents 1.0. `partition` and `offset` are its position.
public struct Event: Sendable, Equatable {
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
    /// JSON text with sorted members.
    public var data: [UInt8]
    public var partition = 0
    /// The number of the event in its partition, from 1 without gaps; 0 until it is appended.
    public var offset = 0

    /// Creates an event without a position.
    public init(
        id: UUID, source: String, type: String, version: Int, key: AggregateKey, app: String?, time: Instant,
        correlation: UUID, causation: UUID?, traceparent: String?, data: [UInt8]
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
        self.data = data
    }

    /// `<key>` or `<key>/<app>`.
    public var subject: String { app.map { "\(key)/\($0)" } ?? key.description }

    /// The CloudEvents JSON form. Equal events have equal bytes.
    public var cloudEvent: [UInt8] {
        var json = JSONWriter()
        json.object { json in
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

extension UUID {
    /// The lower-case text of RFC 9562.
    public var lowercased: String {
        let digits: StaticString = "0123456789abcdef"
        return withUnsafeBytes(of: uuid) { bytes in
            String(unsafeUninitializedCapacity: 36) { text in
                var index = 0
                for (number, byte) in bytes.enumerated() {
                    if [4, 6, 8, 10].contains(number) {
                        text[index] = UInt8(ascii: "-")
                        index += 1
                    }
                    text[index] = digits.utf8Start[Int(byte >> 4)]
                    text[index + 1] = digits.utf8Start[Int(byte & 0x0F)]
                    index += 2
                }
                return index
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
        let random = random().uuid
        return UUID(version7: now, random: withUnsafeBytes(of: random) { Array($0) })
    }
}
