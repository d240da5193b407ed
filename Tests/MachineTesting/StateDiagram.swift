import Foundation

/// The first mermaid diagram in a source file or a page.
public struct StateDiagram: Equatable, Sendable {
    /// The start and the end of a diagram.
    public static let outside = "[*]"

    /// A transition between two states.
    public struct Edge: Hashable, Comparable, CustomStringConvertible, Sendable {
        public var from: String
        public var to: String
        /// The event or the cause that the diagram names.
        public var cause: String
        public var description: String { "\(from) --> \(to): \(cause)" }

        public init(from: String, to: String, cause: String) {
            self.from = from
            self.to = to
            self.cause = cause
        }

        public static func < (one: Edge, other: Edge) -> Bool { one.description < other.description }
    }

    /// The lines without comment markers.
    public let lines: [String]

    /// - Parameter file: a path from the root of the repository.
    public init(in file: String) throws {
        let text = try String(contentsOf: Repository.file(file), encoding: .utf8)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.hasPrefix("/// ") ? String(line.dropFirst(4)) : String(line)
        }
        self.lines = Array(lines.drop { $0 != "```mermaid" }.dropFirst().prefix { $0 != "```" })
    }

    /// The drawn transitions. A line with several causes has one edge for each.
    public var edges: Set<Edge> {
        Set(
            lines.flatMap { line -> [Edge] in
                guard let match = line.wholeMatch(of: /\s*(\S+) --> (\S+): (.+)/) else { return [] }
                let (from, to) = (String(match.1), String(match.2))
                return match.3.split(separator: ", ").map { Edge(from: from, to: to, cause: String($0)) }
            })
    }
}
