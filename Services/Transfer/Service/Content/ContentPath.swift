import Foundation
import ServiceKit

/// The name of a content: segments with slashes between them, such as `films/2026/summer.mp4`.
///
/// It names a row, never a file, so nothing of it reaches the file system.
struct ContentPath: Equatable {
    static let prefix = "/content/"
    /// The most bytes of the whole path, decoded.
    static let longest = 1024
    /// The most bytes of a segment, decoded: what file systems of clients can name.
    static let longestSegment = 255

    /// Decoded.
    let text: String

    /// - Parameter target: the path of the request, as it was sent.
    /// - Throws: `invalid_path`, with the reason.
    init(target: String) throws(Problem) {
        guard target.hasPrefix(Self.prefix) else { throw .invalidPath.because("it must begin with \(Self.prefix)") }
        var segments: [String] = []
        for part in target.dropFirst(Self.prefix.count).split(separator: "/", omittingEmptySubsequences: false) {
            guard let segment = part.removingPercentEncoding else {
                throw .invalidPath.because(
                    "a percent sign needs two hexadecimal digits behind it, and all must be UTF-8")
            }
            segments.append(try Self.checked(segment))
        }
        text = segments.joined(separator: "/")
        guard text.utf8.count <= Self.longest else {
            throw .invalidPath.because("it has more than \(Self.longest) bytes")
        }
    }

    private static func checked(_ segment: String) throws(Problem) -> String {
        guard !segment.isEmpty else { throw .invalidPath.because("a segment is empty") }
        guard segment != ".", segment != ".." else { throw .invalidPath.because("a segment is . or ..") }
        guard !segment.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw .invalidPath.because("a segment has a control character")
        }
        // Encoded: it would be told apart from a real one here, but not by whoever writes the path down.
        // Works on bytes: in Swift a slash and a combining mark behind it form another character.
        guard !segment.utf8.contains(0x2F) else { throw .invalidPath.because("a segment has a slash") }
        guard segment.utf8.count <= longestSegment else {
            throw .invalidPath.because("a segment has more than \(longestSegment) bytes")
        }
        return segment
    }
}
