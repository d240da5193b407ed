import Foundation
import Glibc
import Synchronization
import TestSupport

/// Causes faults, some at the same time, and repairs each of them.
///
/// A replica or the database has one fault at a time. It signals only processes that the attack has started.
final class Saboteur: Sendable {
    private struct State {
        var busy: Set<String> = []
        var counts: [String: Int] = [:]
        var last = "none"
        var wrongs: [String] = []
        var databaseIsDisturbed = 0
    }

    private let suite: AttackedSuite
    private let state = Mutex(State())
    private let log: @Sendable (String) -> Void

    /// - Parameter log: receives each fault.
    init(_ suite: AttackedSuite, log: @escaping @Sendable (String) -> Void) {
        (self.suite, self.log) = (suite, log)
    }

    /// The number of faults of each kind.
    var counts: [String: Int] { state.withLock(\.counts) }
    /// The latest fault.
    var last: String { state.withLock(\.last) }
    /// Failures beside the faults themselves, such as a replica that did not start again.
    var wrongs: [String] { state.withLock(\.wrongs) }

    /// Causes faults until it is stopped, and returns when all are repaired.
    func run(seed: UInt64, replicas: Int, mean: Duration, while goesOn: @escaping @Sendable () -> Bool) async {
        var plan = FaultPlan(seed: seed, replicas: replicas)
        await withDiscardingTaskGroup { group in
            while goesOn(), !Task.isCancelled {
                let fault = plan.next()
                if take(fault) {
                    log("\(fault)")
                    group.addTask {
                        do { try await self.carryOut(fault) } catch {
                            self.state.withLock { $0.wrongs.append("\(fault): \(error)") }
                        }
                        self.release(fault)
                    }
                }
                try? await Task.sleep(for: plan.pause(mean: mean))
            }
        }
    }

    /// Repairs everything, and starts each process that does not run, even one that ended by itself.
    func mend() async {
        await withDiscardingTaskGroup { group in
            for replica in suite.replicas {
                group.addTask {
                    replica.signal(SIGCONT)
                    replica.database.resume()
                    replica.front?.resume()
                    await self.ensureRunning(replica)
                }
            }
        }
    }

    /// Starts a replica that has no fault and whose process has ended.
    func tend(_ replica: Replica) async {
        let isFree = state.withLock { $0.busy.insert(replica.name).inserted }
        guard isFree else { return }
        await ensureRunning(replica)
        state.withLock { _ = $0.busy.remove(replica.name) }
    }

    /// Starts a replica whose process has ended.
    func ensureRunning(_ replica: Replica) async {
        for attempt in 1...6 where !replica.isRunning {
            do { return try await replica.start() } catch {
                // A service can't start while the database is down, and that is not its fault. A service that runs
                // without becoming ready is at fault.
                if attempt == 6 || replica.isRunning { state.withLock { $0.wrongs.append("\(error)") } }
                await waitForDatabase()
            }
        }
    }

    /// Waits until the database answers, for a minute at most.
    private func waitForDatabase() async {
        for _ in 0..<300 {
            if (try? await suite.cluster.sql("SELECT 1")) != nil { return }
            try? await Task.sleep(for: .milliseconds(200))
        }
    }

    private func place(_ fault: Fault) -> String { fault.replica.map { "\($0.0).\($0.1)" } ?? "database" }

    private func take(_ fault: Fault) -> Bool {
        state.withLock { state in
            guard state.busy.count < 4, state.busy.insert(place(fault)).inserted else { return false }
            state.counts[fault.name, default: 0] += 1
            state.last = "\(fault)"
            return true
        }
    }

    private func release(_ fault: Fault) { state.withLock { _ = $0.busy.remove(place(fault)) } }

    private func replica(_ service: AttackedService, _ number: Int) -> Replica? {
        suite.replicas.first { $0.service == service && $0.number == number }
    }

    private func carryOut(_ fault: Fault) async throws {
        if let (service, number) = fault.replica {
            guard let replica = replica(service, number) else { return }
            // A process that ended by itself restarts before the next fault.
            await ensureRunning(replica)
            try await carryOut(fault, on: replica)
            await ensureRunning(replica)
        } else {
            try await carryOutOnDatabase(fault)
        }
    }

    private func carryOut(_ fault: Fault, on replica: Replica) async throws {
        switch fault {
        case .kill: try await replica.end(SIGKILL)
        case .restart:
            let status = try await replica.end(SIGTERM)
            guard let status, status != .exited(0) else { return }
            throw AttackFailed("\(replica.name) ended with \(status) on SIGTERM")
        case .stop(_, _, let seconds):
            replica.signal(SIGSTOP)
            try? await Task.sleep(for: .seconds(seconds))
            replica.signal(SIGCONT)
        case .cutDatabase: try await replica.database.cutAll()
        case .cutCommit(_, _, let isForwarded, let count):
            replica.database.cut(
                whenClientSends: "COMMIT".utf8, after: isForwarded ? .forwarding : .beforeForwarding, count: count)
        case .holdDatabase(_, _, let seconds):
            try await replica.database.pause()
            try? await Task.sleep(for: .seconds(seconds))
            replica.database.resume()
        case .cutClients: try await replica.front?.cutAll()
        case .restartDatabase, .stopBackend, .endBackend: break
        }
    }

    private func carryOutOnDatabase(_ fault: Fault) async throws {
        switch fault {
        case .restartDatabase(let immediate, let seconds):
            try await suite.cluster.stop(immediate ? .immediate : .fast)
            try? await Task.sleep(for: .seconds(seconds))
            try await suite.cluster.start()
        case .stopBackend(let seconds):
            guard let pid = try await backend() else { return }
            kill(pid, SIGSTOP)
            try? await Task.sleep(for: .seconds(seconds))
            // The process id is still valid: only the server reaps the process, and ``isBackend`` asks it.
            if isBackend(pid) { kill(pid, SIGCONT) }
        case .endBackend:
            guard let pid = try await backend() else { return }
            try await suite.cluster.sql("SELECT pg_terminate_backend(\(pid))")
        case .kill, .restart, .stop, .cutDatabase, .cutCommit, .holdDatabase, .cutClients: break
        }
    }

    /// Returns a backend that serves the suite, if possible within a transaction.
    private func backend() async throws -> pid_t? {
        let text = try await suite.cluster.sql(
            """
            SELECT pid FROM pg_stat_activity WHERE datname = '\(suite.database)' AND usename LIKE 'dormouse_%'
            ORDER BY state = 'idle', random() LIMIT 1
            """)
        guard let pid = pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)), isBackend(pid) else { return nil }
        return pid
    }

    /// Whether a process is a child of our own server.
    private func isBackend(_ pid: pid_t) -> Bool {
        guard let file = try? String(contentsOfFile: suite.cluster.dataDirectory + "/postmaster.pid", encoding: .utf8),
            let server = file.split(separator: "\n").first.flatMap({ pid_t($0) }),
            let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            let end = stat.lastIndex(of: ")")
        else { return false }
        let fields = stat[stat.index(after: end)...].split(separator: " ")
        return fields.count > 1 && pid_t(fields[1]) == server
    }
}
