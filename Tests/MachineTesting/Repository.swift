public import Foundation

/// The files of this repository, for tests that compare sources, pages and settings.
public enum Repository {
    /// The root folder.
    public static let root = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }

    /// Returns the URL of a file or folder.
    ///
    /// - Parameter path: the path from the root.
    public static func file(_ path: String) -> URL { root.appending(path: path) }
}
