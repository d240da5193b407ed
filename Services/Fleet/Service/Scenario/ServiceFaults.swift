import Foundation
import Glibc
import Scenarios

/// Kills services of the suite and starts them again, by a command of the user.
///
/// `COMMAND kill push` must return when the service has ended, and `COMMAND start push` when it is ready.
actor ServiceFaults {
    private let command: String
    /// The faults that last, by service. Overlapping ones end with the last one.
    private var active: [ScenarioService: Int] = [:]

    init(command: String) { self.command = command }

    /// Kills a service.
    ///
    /// - Throws: ``FleetError`` with the output of the command if it fails.
    func begin(_ service: ScenarioService) async throws {
        if active[service] == nil { try await perform("kill", service) }
        active[service, default: 0] += 1
    }

    /// Starts a killed service, unless another fault of it lasts.
    ///
    /// - Throws: ``FleetError`` with the output of the command if it fails.
    func end(_ service: ScenarioService) async throws {
        guard let count = active[service] else { return }
        guard count == 1 else { return active[service] = count - 1 }
        try await perform("start", service)
        active[service] = nil
    }

    /// Starts all killed services, at the end of a run.
    ///
    /// - Throws: the first failure, after it has tried all of them.
    func endAll() async throws {
        var failure: (any Error)?
        for service in active.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            active[service] = 1
            do { try await end(service) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }

    private func perform(_ action: String, _ service: ScenarioService) async throws {
        let command = command
        let (status, output) = try await Task.detached { () throws(FleetError) in
            try ShellCommand.run(command, action, service.rawValue)
        }.value
        guard status == 0 else {
            let end = output.split(separator: "\n").suffix(3).joined(separator: " ")
            throw FleetError("\(command) \(action) \(service.rawValue) ended with status \(status): \(end)")
        }
    }
}

/// A command of the user.
///
/// `Process` of Foundation waits for all descendants of a child, also for a service that the command has started.
private enum ShellCommand {
    /// Runs a command with arguments, and blocks until it has ended.
    ///
    /// - Throws: ``FleetError`` if it cannot be started.
    /// - Returns: its exit status, and the number of a signal that ended it as a negative one; and its output.
    static func run(_ command: String, _ arguments: String...) throws(FleetError) -> (status: Int32, output: String) {
        // A file instead of a pipe: the started service may inherit it, and a pipe would then stay open.
        let file = FileManager.default.temporaryDirectory.appending(path: "fleet-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        var pid = pid_t()
        let words = ["/bin/sh", "-c", command + " \"$@\"", "sh"] + arguments
        var pointers = words.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        let error = withActions(output: file.path) { actions, attributes in
            posix_spawn(&pid, "/bin/sh", &actions, &attributes, &pointers, environ)
        }
        guard error == 0 else { throw FleetError("cannot run \(command): \(String(cString: strerror(error)))") }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        let output = FileManager.default.contents(atPath: file.path) ?? Data()
        let signal = status & 0x7f
        return (signal == 0 ? (status >> 8) & 0xff : -signal, String(decoding: output, as: UTF8.self))
    }

    /// The child gets no ignored signal of this process, and no Ctrl-C of the terminal.
    private static func withActions(
        output: String,
        _ body: (inout posix_spawn_file_actions_t, inout posix_spawnattr_t) -> Int32
    ) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGPIPE] { sigaddset(&signals, signal) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
        return body(&actions, &attributes)
    }
}
