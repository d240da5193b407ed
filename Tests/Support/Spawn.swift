import Foundation
import Glibc
import Synchronization

/// A process could not be started.
public struct SpawnFailed: Error, CustomStringConvertible {
    /// The executable and the system's reason.
    public let description: String
}

/// A new process in its own process group, and our ends of its three streams.
struct Spawn {
    let pid: pid_t
    let input: Int32
    let output: Int32
    let errors: Int32

    /// One start at a time: a pipe is created without close-on-exec, and no child may inherit the pipes of another.
    private static let starting = Mutex(())

    init(_ executable: String, _ arguments: [String], _ environment: [String: String]) throws(SpawnFailed) {
        self = try Self.starting.withLock { _ throws(SpawnFailed) in
            try Self.locked(executable, arguments, environment)
        }
    }

    private init(pid: pid_t, input: Int32, output: Int32, errors: Int32) {
        (self.pid, self.input, self.output, self.errors) = (pid, input, output, errors)
    }

    private static func locked(
        _ executable: String, _ arguments: [String], _ environment: [String: String]
    ) throws(SpawnFailed) -> Spawn {
        var input: [Int32] = [-1, -1]
        var output: [Int32] = [-1, -1]
        var errors: [Int32] = [-1, -1]
        // A socket instead of a pipe: a write to an ended process returns an error there, instead of SIGPIPE.
        let opened =
            socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &input) == 0 && pipe(&output) == 0
            && pipe(&errors) == 0
        let all = (input + output + errors).filter { $0 >= 0 }
        do throws(SpawnFailed) {
            guard opened else {
                throw SpawnFailed(description: "no streams for \(executable): \(String(cString: strerror(errno)))")
            }
            all.forEach { _ = fcntl($0, F_SETFD, FD_CLOEXEC) }
            let theirs = [input[1], output[1], errors[1]]
            let pid = try start(executable, arguments, environment, descriptors: theirs)
            theirs.forEach { _ = close($0) }
            return Spawn(pid: pid, input: input[0], output: output[0], errors: errors[0])
        } catch {
            all.forEach { _ = close($0) }
            throw error
        }
    }

    private static func start(
        _ executable: String, _ arguments: [String], _ environment: [String: String], descriptors: [Int32]
    ) throws(SpawnFailed) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (target, descriptor) in descriptors.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(target))
        }
        // Sockets that a network library has accepted are not close-on-exec. A child that inherited one would hide the
        // end of the stream from the peer. Closing a closed descriptor does no harm. The margin covers descriptors that
        // other threads open meanwhile, because the lowest free number is used first.
        for descriptor in 3..<(highestDescriptor() + 256) {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The threads of a Swift program block signals, and a network library ignores SIGPIPE. A child would inherit
        // both, and SIGTERM could not stop it.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var defaults = sigset_t()
        sigemptyset(&defaults)
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGCHLD, SIGUSR1, SIGUSR2] {
            sigaddset(&defaults, signal)
        }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        let argv = ([executable] + arguments).map { strdup($0) } + [nil]
        let envp = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { (argv + envp).forEach { free($0) } }
        var pid: pid_t = 0
        let code = posix_spawn(&pid, executable, &actions, &attributes, argv, envp)
        guard code == 0 else {
            throw SpawnFailed(description: "cannot start \(executable): \(String(cString: strerror(code)))")
        }
        return pid
    }

    private static func highestDescriptor() -> Int32 {
        let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return open.compactMap { Int32($0) }.max() ?? 1024
    }
}
