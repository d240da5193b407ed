public import HTTPTypes
public import Records

/// A line of a batch: a document about one device.
public protocol DeviceLine: Record {
    var device: String { get }
}

/// The answer to one line of a batch.
public struct LineAnswer: Sendable {
    /// The status that the same request about one device would have.
    public var status: HTTPResponse.Status
    /// The members of the answer.
    public var members: [JSON.Member]
    /// The log position of the command: its partition and the offset of its last event.
    public var position: (partition: Int, offset: Int)?

    /// Creates an answer.
    public init(
        _ status: HTTPResponse.Status = .ok, _ members: [JSON.Member] = [],
        position: (partition: Int, offset: Int)? = nil
    ) {
        self.status = status
        self.members = members
        self.position = position
    }

    /// The most bytes of the problem of a line. A longer one has only its code and title.
    private static let longestProblem = 2048

    init(_ problem: Problem, device: String?) {
        var members = device.map { [JSON.Member("device", .string($0))] } ?? []
        var json = problem.json
        if json.bytes.count > Self.longestProblem {
            json = Problem(problem.status, problem.code, problem.title).json
        }
        members += (json.members ?? []).filter { $0.name != "status" && $0.name != "type" }
        self.init(problem.status, members)
    }

    /// Returns the text of the answer: a JSON object and a line feed.
    ///
    /// - Parameter line: the number of the line; nil for an answer about a device that no line names.
    func text(line: Int?) -> [UInt8] {
        let number = line.map { [JSON.Member("line", .int($0))] } ?? []
        return JSON.object(number + [JSON.Member("status", .int(status.code))] + members).bytes + [UInt8(ascii: "\n")]
    }
}
