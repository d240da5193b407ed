public import EventLog
import HTTPTypes
import Hummingbird

// Positions, ids of streams and cursors of clients begin with the incarnation and a dot, except in the first incarnation.
extension LogIncarnation {
    /// Returns a position for clients.
    public func marked(_ position: String) -> String { isFirst ? position : "\(id).\(position)" }

    /// Returns the position of a client without its incarnation.
    ///
    /// - Throws: `earlier_incarnation`.
    public func unmarked(_ position: String) throws(Problem) -> String {
        let plain = Self.plain(position)
        guard marked(plain) == position, Self.plain(plain) == plain else { throw .earlierIncarnation }
        return plain
    }

    /// Returns a position without its incarnation, whichever it has.
    public static func plain(_ position: String) -> String {
        let parts = position.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        return String(parts.last ?? "")
    }

    /// Returns a request whose headers have positions without their incarnation.
    ///
    /// - Throws: `earlier_incarnation`.
    func unmarked(_ request: Request) throws(Problem) -> Request {
        var head = request.head
        for name in [HTTPField.Name.position, .lastEventID] {
            // The route refuses a text that is no position.
            guard let text = request.headers[name], EncodedPosition(Self.plain(text)) != nil else { continue }
            head.headerFields[name] = try unmarked(text)
        }
        return head == request.head ? request : Request(head: head, body: request.body)
    }

    /// Returns an answer whose position names the incarnation.
    func marked(_ response: Response) -> Response {
        guard !isFirst, let position = response.headers[.position] else { return response }
        var response = response
        response.headers[.position] = marked(position)
        return response
    }
}

extension Problem {
    /// The position of the client is of an incarnation of the log before a restore or a promotion, or of another log.
    public static let earlierIncarnation = Problem(
        .gone, "earlier_incarnation", "Position is of an earlier incarnation of the log",
        detail: "The log was restored, or a standby took over, and events may be lost. Read the state and start again "
            + "without a position.")
}
