public import HTTPTypes
public import Hummingbird

/// The positions from which a stream resumes.
public struct EncodedPosition: Sendable, Hashable, CustomStringConvertible {
    /// Offsets by partition.
    public let offsets: [Int: Int64]

    /// The pattern of the text, a regular expression.
    static let pattern = "^([0-9a-f]{12}\\.)?[0-9]+:[0-9]+(,[0-9]+:[0-9]+)*$"

    /// Creates a resume point from offsets by partition.
    public init(_ offsets: [Int: Int64]) { self.offsets = offsets }

    /// Reads `partition:offset[,partition:offset…]`; returns nil for any other text.
    public init?(_ text: String) {
        var offsets: [Int: Int64] = [:]
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let numbers = part.split(separator: ":", omittingEmptySubsequences: false)
            guard numbers.count == 2, let partition = Int(numbers[0]), let offset = Int64(numbers[1]), partition >= 0,
                offset >= 0, offsets.updateValue(offset, forKey: partition) == nil
            else { return nil }
        }
        self.offsets = offsets
    }

    public var description: String {
        offsets.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(separator: ",")
    }
}

extension Request {
    /// Reads `Last-Event-ID`; returns nil without it.
    ///
    /// - Throws: `invalid_header` if `Last-Event-ID` is not a position.
    public func encodedPosition() throws(Problem) -> EncodedPosition? {
        guard let text = headers[.lastEventID] else { return nil }
        guard let point = EncodedPosition(text) else {
            throw .invalidHeader.with(detail: "Last-Event-ID must be partition:offset, or several with commas")
        }
        return point
    }
}

extension HTTPField.Name {
    /// The log position of a call. Another service waits until it has read up to it: read your writes.
    public static let position = HTTPField.Name("Dormouse-Position")!
}

extension HTTPFields {
    /// The offset in an answer's `Dormouse-Position`; the log has all events of the command up to it.
    public var position: Int? {
        self[.position].flatMap { EncodedPosition($0) }?.offsets.values.first.map { Int($0) }
    }
}
