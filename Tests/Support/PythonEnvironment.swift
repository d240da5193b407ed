import Foundation

/// A private Python environment could not be created.
public struct PythonFailed: Error, CustomStringConvertible {
    /// The failure, with the last lines of output.
    public let description: String
}

/// A private Python environment with packages from PyPI, so that tests can use third-party clients.
///
/// It is beside the test bundle, one for each set of packages. The first test creates it, and later runs reuse it. The
/// machine's own Python does not change.
public struct PythonEnvironment: Sendable {
    /// Clients of `push`.
    public static let apnsClients = ["aioapns==4.0", "httpx[http2]==0.28.1", "PyJWT[crypto]==2.15.1"]

    /// The path of the interpreter.
    public let interpreter: String

    /// The lock ends with its process, and the next process replaces an incomplete environment.
    private static let script = #"""
        folder=$1; shift
        exec 9>"$folder.lock"
        flock 9
        [ -e "$folder/complete" ] && exit 0
        rm -rf "$folder"
        python3 -m venv "$folder" || {
            echo "python3 can't make a private environment; on Debian: apt-get install python3-venv" >&2; exit 3; }
        "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --retries 2 "$@" || {
            echo "pip can't install $* from the package index: is pypi.org reachable from here?" >&2; exit 4; }
        : > "$folder/complete"
        """#

    /// Creates an environment, or returns the existing one.
    ///
    /// - Parameters:
    /// - packages: requirements with pinned versions, in the syntax of pip.
    /// - folder: its path; beside the test bundle by default.
    /// - Throws: ``PythonFailed`` with the output of pip.
    public static func make(
        _ packages: [String] = apnsClients, in folder: String? = nil
    ) async throws -> PythonEnvironment {
        let place = folder ?? ChildProcess.product("python-" + name(of: packages))
        let process = try ChildProcess.start("/bin/sh", ["-c", script, "python", place] + packages)
        let status = try await process.exit(within: 300)
        guard status == .exited(0) else {
            let said = process.errors.lines.suffix(8).joined(separator: "\n")
            throw PythonFailed(description: "no Python with \(packages.joined(separator: ", ")): \(status)\n\(said)")
        }
        return PythonEnvironment(interpreter: place + "/bin/python")
    }

    /// Runs a script to its end.
    ///
    /// - Returns: the lines of its standard output.
    /// - Throws: ``PythonFailed`` if its exit status is not 0.
    public func run(
        _ script: String, _ arguments: [String] = [], environment: [String: String] = [:], within seconds: Double = 60
    ) async throws -> [String] {
        let process = try ChildProcess.start(interpreter, ["-u", script] + arguments, environment: environment)
        let status = try await process.exit(within: seconds)
        guard status == .exited(0) else {
            let said = process.errors.lines.suffix(20).joined(separator: "\n")
            throw PythonFailed(description: "\(script): \(status)\n\(said)")
        }
        return process.output.lines
    }

    /// Returns the FNV-1a hash of the packages, so that each set has its own name.
    private static func name(of packages: [String]) -> String {
        let hash = packages.sorted().joined(separator: " ").utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        return String(hash, radix: 16)
    }
}
