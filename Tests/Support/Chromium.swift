import Foundation
import Glibc
import Records
import Synchronization

/// A process of headless Chromium. Its start needs seconds of processor time, so all pages of a test process share one.
///
/// Chromium reads commands from descriptor 3 and answers on 4; a zero byte ends each message. A shell connects them to
/// a named pipe and to standard output, and turns each message into a line.
actor Chromium {
    /// The path of Debian's package. Ubuntu has Chromium only as a snap.
    static let executable = "/usr/bin/chromium"

    private static let script = """
        folder=$0
        mkfifo "$folder/commands"
        echo ready >&2
        { "$@" 3<>"$folder/commands" 4>&1 1>&2; } | stdbuf -o0 tr '\\0' '\\n'
        """
    private static let arguments = [
        "--headless=new", "--no-sandbox", "--no-zygote", "--disable-gpu", "--disable-dev-shm-usage",
        "--disable-breakpad", "--disable-background-networking", "--no-first-run", "--hide-scrollbars",
        "--disable-renderer-backgrounding", "--disable-background-timer-throttling",
        "--disable-backgrounding-occluded-windows", "--remote-debugging-pipe",
    ]
    private static let started = Mutex<Task<Chromium, any Error>?>(nil)

    private let process: ChildProcess
    private let commands: FileHandle
    private var last = 0

    /// The process, which the first call starts. It ends with the test process.
    static func shared() async throws -> Chromium {
        let start = started.withLock { current in
            let start = current ?? Task { try await Chromium() }
            current = start
            return start
        }
        return try await start.value
    }

    private init() async throws {
        let folder = try Self.makeFolder()
        process = try ChildProcess.start(
            "/bin/sh",
            ["-c", Self.script, folder.path, Self.executable] + Self.arguments
                + ["--user-data-dir=\(folder.path)/profile", "about:blank"],
            // Chromium also writes outside its profile, in HOME.
            environment: ["HOME": folder.path])
        try await process.waitForLine(containing: "ready")
        // Opening for reading and writing does not wait for the other side.
        commands = FileHandle(
            fileDescriptor: Glibc.open(folder.path + "/commands", O_RDWR | O_CLOEXEC), closeOnDealloc: true)
    }

    /// Makes a folder, and removes those of test processes that have ended.
    private static func makeFolder() throws -> URL {
        let (files, name) = (FileManager.default, "dormouse-browser-")
        let parent = files.temporaryDirectory
        for other in (try? files.contentsOfDirectory(atPath: parent.path)) ?? [] where other.hasPrefix(name) {
            guard let owner = pid_t(other.dropFirst(name.count)), kill(owner, 0) != 0, errno == ESRCH else { continue }
            try? files.removeItem(at: parent.appendingPathComponent(other))
        }
        let folder = parent.appendingPathComponent("\(name)\(getpid())")
        try files.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    /// All messages so far, one per element.
    nonisolated var messages: [String] { process.output.lines }

    /// Sends a command to Chromium or to a page, and waits for its result.
    @discardableResult
    func call(_ method: String, _ parameters: JSON = [:], session: String? = nil) async throws -> JSON {
        last += 1
        var command: [JSON.Member] = [
            .init("id", .int(last)), .init("method", .string(method)), .init("params", parameters),
        ]
        if let session { command.append(.init("sessionId", .string(session))) }
        let (output, beginning) = (process.output, "{\"id\":\(last),")
        // The answer comes after all lines so far. A page reports many events, so reading them again is slow.
        let earlier = output.count
        try commands.write(contentsOf: JSON.object(command).bytes + [0])
        let line = try await withTimeout(seconds: 60, method) {
            await output.first(after: earlier) { $0.hasPrefix(beginning) }
        }
        let answer = try JSON(parsing: Array((line ?? "{}").utf8))
        guard let result = answer["result"] else {
            throw Browser.Refused(description: "\(method): \(line ?? "it ended: " + process.errors.tail())")
        }
        return result
    }
}
