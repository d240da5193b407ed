/// One event of a stream (HTML standard, section 9.2).
public struct StreamEvent: Sendable, Equatable {
    /// The last `id` of the stream, also if this event has none.
    public var id: String?
    public var event: String?
    public var data: String
}

/// An event of a stream is larger than 1 MiB.
public struct StreamEventTooLarge: Error, CustomStringConvertible {
    public let description = "an event of the stream is larger than 1 MiB"
}

/// Parses server-sent events from chunks of bytes (HTML standard, section 9.2.6).
public struct ServerSentEventParser: Sendable {
    /// The `id` of the last complete event, to resume after.
    public private(set) var lastEventID: String?

    private var line: [UInt8] = []
    private var followsReturn = false
    private var isAtStart = true
    private var event: String?
    private var data: String?
    private var pendingID: String?

    private static let limit = 1 << 20

    public init(lastEventID: String? = nil) {
        self.lastEventID = lastEventID
        pendingID = lastEventID
    }

    /// Parses the next bytes.
    ///
    /// - Returns: the completed events. An `id` without data gives no event but sets ``lastEventID``.
    /// - Throws: if an event is larger than 1 MiB.
    public mutating func feed(_ bytes: some Sequence<UInt8>) throws(StreamEventTooLarge) -> [StreamEvent] {
        var events: [StreamEvent] = []
        for byte in bytes {
            defer { followsReturn = byte == UInt8(ascii: "\r") }
            switch byte {
            case UInt8(ascii: "\n") where followsReturn: break
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                if let event = endLine() { events.append(event) }
            default:
                line.append(byte)
                guard line.count + (data?.utf8.count ?? 0) <= Self.limit else { throw StreamEventTooLarge() }
            }
        }
        return events
    }

    private mutating func endLine() -> StreamEvent? {
        if isAtStart, line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
        isAtStart = false
        defer { line.removeAll(keepingCapacity: true) }
        guard !line.isEmpty else { return dispatch() }
        guard line[0] != UInt8(ascii: ":") else { return nil }
        let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        var value = parts.count > 1 ? parts[1] : []
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        let text = String(decoding: value, as: UTF8.self)
        switch String(decoding: parts[0], as: UTF8.self) {
        case "data": data = data.map { $0 + "\n" + text } ?? text
        case "event": event = text
        case "id" where !value.contains(0): pendingID = text
        default: break
        }
        return nil
    }

    private mutating func dispatch() -> StreamEvent? {
        lastEventID = pendingID
        defer { (event, data) = (nil, nil) }
        return data.map { StreamEvent(id: lastEventID, event: event, data: $0) }
    }
}
