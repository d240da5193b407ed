import Foundation
import HTTPKit

/// The path of a file under `/content`: segments separated by slashes, such as `films/2026/summer.mp4`.
///
/// It is the key of a row, never a name in the file system.
struct ContentPath: Equatable {
    static let prefix = "/content/"
    /// The largest number of bytes of the decoded path.
    static let longest = 1024
    /// The largest number of bytes of a decoded segment, the limit of common file systems.
    static let longestSegment = 255

    /// Decoded.
    let text: String

    /// - Parameter target: the encoded path of the request.
    /// - Throws: `invalid_path` with the reason.
    init(target: String) throws(Problem) {
        guard target.hasPrefix(Self.prefix) else {
            throw .invalidPath.with(detail: "the path must begin with \(Self.prefix)")
        }
        var segments: [String] = []
        for part in target.dropFirst(Self.prefix.count).split(separator: "/", omittingEmptySubsequences: false) {
            guard let segment = part.removingPercentEncoding else {
                throw .invalidPath.with(
                    detail: "the path must be UTF-8, and two hexadecimal digits must follow each percent sign")
            }
            segments.append(try Self.checked(segment))
        }
        text = segments.joined(separator: "/")
        guard text.utf8.count <= Self.longest else {
            throw .invalidPath.with(detail: "the path has more than \(Self.longest) bytes")
        }
    }

    private static func checked(_ segment: String) throws(Problem) -> String {
        guard !segment.isEmpty else { throw .invalidPath.with(detail: "a segment is empty") }
        guard segment != ".", segment != ".." else { throw .invalidPath.with(detail: "a segment is . or ..") }
        guard !segment.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw .invalidPath.with(detail: "a segment has a control character")
        }
        // An encoded slash would make two different paths look the same when decoded.
        // Compares bytes, because in Swift a slash with a combining mark is another character.
        guard !segment.utf8.contains(0x2F) else { throw .invalidPath.with(detail: "a segment has a slash") }
        guard segment.utf8.count <= longestSegment else {
            throw .invalidPath.with(detail: "a segment has more than \(longestSegment) bytes")
        }
        return segment
    }
}
