import Foundation
import TestSupport
import Testing

/// An independent download client.
struct Downloader: Sendable, CustomTestStringConvertible {
    let name: String
    /// The Debian package of the client.
    let package: String
    /// The arguments with which it continues an existing file and retries where it can.
    let arguments: @Sendable (_ url: String, _ folder: URL, _ file: String) -> [String]
    /// Whether it requests one range at a time and no byte twice.
    let isFrugal: Bool
    var testDescription: String { name }

    static let curl = Downloader(
        name: "curl", package: "curl",
        arguments: { url, folder, file in
            ["-sS", "-f", "--noproxy", "*", "-C", "-", "-o", folder.appendingPathComponent(file).path, url]
        }, isFrugal: true)
    static let wget = Downloader(
        name: "wget", package: "wget",
        arguments: { url, folder, file in
            ["-q", "-c", "--no-proxy", "--tries=20", "--waitretry=0", "-P", folder.path, url]
        }, isFrugal: true)
    static let aria2 = Downloader(
        name: "aria2c", package: "aria2",
        arguments: { url, folder, file in
            [
                "-q", "-c", "-x8", "-s8", "-k1M", "--no-conf", "--no-proxy=*", "--max-tries=40", "--retry-wait=0",
                "--file-allocation=none", "--dir", folder.path, "--out", file, url,
            ]
        }, isFrugal: false)

    /// Runs the client up to ten times until it has the file.
    ///
    /// - Parameter file: The last segment of the URL, which wget uses as the name of the file.
    func download(_ url: String, to folder: URL, as file: String, within seconds: Double = 60) async throws {
        var said = ""
        for _ in 0..<10 {
            let process = try start(arguments(url, folder, file))
            if try await process.exit(within: seconds) == .exited(0) { return }
            said = process.errors.tail()
        }
        throw Unexpected(description: "\(name) does not get the file: \(said)")
    }

    /// Runs the client with other arguments, which must succeed. Returns its output without the last line break.
    @discardableResult
    func run(_ arguments: [String], within seconds: Double = 60) async throws -> String {
        let process = try start(arguments)
        guard try await process.exit(within: seconds) == .exited(0) else {
            throw Unexpected(description: "\(name) \(arguments): \(process.errors.tail())")
        }
        return process.output.lines.joined(separator: "\n")
    }

    private func start(_ arguments: [String]) throws -> ChildProcess {
        let path = "/usr/bin/" + name
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw Unexpected(description: "\(path) is missing; on Debian: apt-get install \(package)")
        }
        return try ChildProcess.start(path, arguments)
    }
}
