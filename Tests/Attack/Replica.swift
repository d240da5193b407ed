import Foundation
import Glibc
import Synchronization
import TestSupport

/// One process of a service, with the proxies in front of it and in front of its database.
///
/// It signals only the process that it has started. ``deaths`` has each process that ended without a signal.
final class Replica: Sendable {
    /// The end of a process that the attack did not end.
    struct Death: Sendable {
        var replica: String
        var status: ExitStatus
        var lines: [String]
    }

    private struct State {
        var process: ChildProcess?
        /// The process that the attack is about to end by a signal.
        var condemned: pid_t?
        var isReady = false
        var deaths: [Death] = []
        var failedStarts: [Death] = []
        var starts = 0
        var residentAtStart = 0
        var transcripts: [Transcript] = []
    }

    /// The longest start, in seconds.
    static let patience = 90.0

    let service: AttackedService
    /// The number of the replica, from 1 on.
    let number: Int
    /// The proxy between the process and PostgreSQL.
    let database: TCPProxy
    /// The proxy between clients and the process; nil if clients connect directly.
    let front: TCPProxy?
    /// The port of the provider endpoint; nil for services other than `push`.
    let apnsPort: Int?
    let port: Int
    private let settings: [String: String]
    private let state = Mutex(State())

    init(
        _ service: AttackedService, _ number: Int, port: Int, apnsPort: Int?, database: TCPProxy, front: TCPProxy?,
        settings: [String: String]
    ) {
        (self.service, self.number, self.port, self.apnsPort) = (service, number, port, apnsPort)
        (self.database, self.front, self.settings) = (database, front, settings)
    }

    var name: String { "\(service).\(number)" }
    /// The address for clients.
    var address: String { "http://127.0.0.1:\(front?.port ?? port)" }
    /// The address at which it listens, without a proxy.
    var directAddress: String { "http://127.0.0.1:\(port)" }
    /// The address for providers, with TLS.
    var apnsAddress: String? { apnsPort.map { "https://localhost:\($0)" } }

    var isRunning: Bool { state.withLock { $0.process != nil && $0.condemned == nil } }
    /// Processes that ended by themselves after they were ready.
    var deaths: [Death] { state.withLock(\.deaths) }
    /// Processes that ended by themselves before they were ready. They may do so while the database is down.
    var failedStarts: [Death] { state.withLock(\.failedStarts) }
    /// The number of starts.
    var starts: Int { state.withLock(\.starts) }
    /// The resident memory of its first process when that was ready.
    var residentAtStart: Int { state.withLock(\.residentAtStart) }
    /// The resident memory of its process now; nil without one.
    var residentNow: Int? { state.withLock { $0.process?.pid }.flatMap { Self.resident($0) } }
    /// The standard error of all its processes.
    var transcripts: [Transcript] { state.withLock(\.transcripts) }

    /// Starts a process and waits until it is ready.
    ///
    /// - Throws: ``AttackFailed`` with the process's last words, if it ended before.
    func start() async throws {
        let process = try ChildProcess.start(ChildProcess.product("\(service)"), ["serve"], environment: settings)
        state.withLock { state in
            state.process = process
            state.condemned = nil
            state.isReady = false
            state.starts += 1
            state.transcripts.append(process.errors)
        }
        watch(process)
        let begin = ContinuousClock.now
        do {
            try await process.waitForLine(containing: "is ready", within: Self.patience)
        } catch {
            if let status = try? await process.exit(within: 1) { note(process, status) }
            let seconds = Int(begin.duration(to: .now) / .seconds(1))
            throw AttackFailed("\(name) did not start within \(seconds) s: \(error)")
        }
        state.withLock { state in
            state.isReady = state.process === process
            if state.residentAtStart == 0 { state.residentAtStart = Self.resident(process.pid) ?? 0 }
        }
    }

    /// Ends its process with a signal and waits until it is gone.
    ///
    /// - Returns: its exit status; nil if none was running.
    @discardableResult
    func end(_ signal: Int32, within seconds: Double = 90) async throws -> ExitStatus? {
        let process = state.withLock { state in
            state.condemned = state.process?.pid
            return state.process
        }
        guard let process else { return nil }
        process.signal(signal)
        return try await process.exit(within: seconds)
    }

    /// Signals its process: `SIGSTOP` or `SIGCONT`.
    func signal(_ signal: Int32) { state.withLock { $0.process }?.signal(signal) }

    private func watch(_ process: ChildProcess) {
        // The thread lives as long as the process, which ends with this object at the latest.
        Task { [weak self] in
            guard let status = try? await process.exit(within: 1e6) else { return }
            self?.note(process, status)
        }
    }

    private func note(_ process: ChildProcess, _ status: ExitStatus) {
        state.withLock { state in
            guard state.process === process else { return }
            state.process = nil
            guard state.condemned != process.pid else { return }
            let lines = process.errors.lines.suffix(12) + process.output.lines.suffix(2)
            let death = Death(replica: name, status: status, lines: Array(lines))
            if state.isReady { state.deaths.append(death) } else { state.failedStarts.append(death) }
        }
    }

    /// - Returns: bytes.
    private static func resident(_ pid: pid_t) -> Int? {
        guard let text = try? String(contentsOfFile: "/proc/\(pid)/statm", encoding: .utf8) else { return nil }
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return pages.map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) }
    }

    /// The processor time of its process so far, in seconds; 0 without one.
    var processorSeconds: Double {
        guard let pid = state.withLock({ $0.process?.pid }),
            let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return 0 }
        // proc(5): utime and stime are the 14th and 15th fields; the 3rd is the first behind the name.
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
