import Foundation
import NIOCore
import NIOHTTP1
import Postgres
import Records
import TestSupport

/// Waits until a suite is at rest, and judges everything that it has stored.
struct Judgement: Sendable {
    private let run: AttackRun
    private let saboteur: Saboteur
    private let say: @Sendable (String) -> Void
    /// The longest time until every event is consumed.
    private static let patience = 120.0

    init(_ run: AttackRun, _ saboteur: Saboteur, say: @escaping @Sendable (String) -> Void) {
        (self.run, self.saboteur, self.say) = (run, saboteur, say)
    }

    func report() async -> AttackReport {
        var report = AttackReport()
        report.faultCounts = saboteur.counts
        do {
            let scan = try LogScan(run.suite)
            await rest(scan, &report)
            say("at rest; the log is read")
            await processes(&report)
            try await log(scan, &report)
            try await folds(scan, &report)
            await scan.pool.close()
        } catch {
            report.faults.append("the audit failed: \(error)")
        }
        await streams(&report)
        await run.uploads.check(run.suite, run.client)
        report.uploads = run.uploads.count
        report.faults += run.uploads.faults.map { "upload: \($0)" }
        report.faults += saboteur.wrongs
        hostile(&report)
        lines(&report)
        return report
    }

    /// Waits until every process is ready, every consumer is at the head, and no deadline is overdue.
    private func rest(_ scan: LogScan, _ report: inout AttackReport) async {
        await saboteur.mend()
        let run = run
        for replica in run.suite.replicas {
            do {
                try await eventually(within: Self.patience, describe: "/readyz of \(replica.name)") {
                    (try? await run.client.send(Call(.GET, "/readyz"), to: replica.directAddress))?.status == 200
                }
            } catch {
                let answer = try? await run.client.send(Call(.GET, "/readyz"), to: replica.directAddress)
                report.faults.append("\(replica.name) is not ready: \(answer?.excerpt ?? "no answer")")
            }
        }
        do {
            try await eventually(within: Self.patience, describe: "no consumer lags") {
                try await scan.laggards().isEmpty
            }
            try await eventually(within: Self.patience, describe: "no deadline is overdue") {
                try await scan.overdue(seconds: 10).isEmpty
            }
        } catch {
            let late = ((try? await scan.laggards()) ?? []) + ((try? await scan.overdue(seconds: 10)) ?? [])
            report.faults += late.map { "stuck: \($0)" } + (late.isEmpty ? ["not at rest: \(error)"] : [])
        }
    }

    private func processes(_ report: inout AttackReport) async {
        for replica in run.suite.replicas {
            let health = try? await run.client.send(Call(.GET, "/healthz"), to: replica.directAddress)
            if health?.status != 200 { report.faults.append("\(replica.name) does not answer /healthz") }
            report.processes.append(
                .init(
                    name: replica.name, starts: replica.starts, residentAtStart: replica.residentAtStart,
                    residentAtEnd: replica.residentNow ?? 0))
            for death in replica.deaths {
                report.faults.append(
                    "\(death.replica) ended by itself (\(death.status)): " + death.lines.joined(separator: "\n    "))
            }
            if let start = replica.failedStarts.last {
                report.remarks.append(
                    "\(start.replica) did not start \(replica.failedStarts.count) times, the last time (\(start.status)): "
                        + start.lines.suffix(2).joined(separator: " "))
            }
        }
    }

    private func log(_ scan: LogScan, _ report: inout AttackReport) async throws {
        let heads = try await scan.heads()
        var audit = Audit(run.ledger)
        try await scan.read(to: heads) { audit.add($0) }
        let verdict = audit.verdict(heads: heads)
        report.rows = verdict.rows
        report.refusals = verdict.refusals
        report.events = verdict.events
        report.faults += verdict.faults
        report.faults += try await scan.doubledDecisions().map { "decided twice: \($0)" }
        report.faults += try await scan.unansweredWakes().map { "wake: \($0)" }
        for (key, text) in try await scan.deadLetters() {
            // A hostile document might be one that no service can process. None is known today.
            report.faults.append("dead letter\(key.hasPrefix("device:hostile") ? " of a hostile device" : ""): \(text)")
        }
        // A service may have appended an event since the rest.
        try? await eventually(within: Self.patience, describe: "no consumer lags") {
            try await scan.laggards().isEmpty
        }
        report.faults += try await scan.laggards().map { "behind after the rest: \($0)" }
    }

    /// Checks that the readers that followed the log across all faults missed nothing.
    private func streams(_ report: inout AttackReport) async {
        if let scan = try? LogScan(run.suite) {
            if let heads = try? await scan.heads() { await run.feed.finish(heads) }
            await scan.pool.close()
        }
        report.faults += run.feed.faults.map { "the feed of ops: \($0)" }
        report.remarks.append("the feed of ops sent \(run.feed.count) events over \(run.feed.connections) connections")
        for reader in run.orders { await reader.finish() }
        report.faults += run.orders.flatMap(\.faults)
        report.remarks.append("\(run.orders.reduce(0) { $0 + $1.count }) orders were received")
    }

    /// Every stored state is the fold of its events.
    private func folds(_ scan: LogScan, _ report: inout AttackReport) async throws {
        let ops = run.suite.replicas(of: .ops)[0].directAddress
        for partition in try await scan.heads().keys.sorted() {
            let call = Call(.GET, "/v1/log/check?partition=\(partition)&folds=1000")
            let answer = try await run.client.send(call, to: ops, within: 120)
            guard answer.isSuccess else {
                report.faults.append("/v1/log/check: \(answer.status) \(answer.excerpt)")
                continue
            }
            report.folds += answer.json["folds"]?.items?.reduce(0) { $0 + ($1["checked"]?.int ?? 0) } ?? 0
            for fold in answer.json["folds"]?.items ?? [] {
                for key in fold["differing"]?.items ?? [] {
                    guard let service = fold["service"]?.string, let key = key.string else { continue }
                    await keep(service, key, &report)
                }
            }
            if answer.json["sound"]?.bool != true {
                report.faults.append(
                    "/v1/log/check: \(String(decoding: answer.json.bytes.prefix(1000), as: UTF8.self))")
            }
        }
    }

    /// Stores the evidence of a state that differs from its fold: its own events, then the state.
    private func keep(_ service: String, _ key: String, _ report: inout AttackReport) async {
        let history = """
            SELECT row_to_json(e) FROM bus.events AS e WHERE key = '\(key)' AND source = '\(service)' ORDER BY log_offset
            """
        let state = """
            SELECT row_to_json(s) FROM (
                SELECT *, encode(state, 'hex') AS hexadecimal FROM "\(service)".states WHERE key = '\(key)') AS s
            """
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("attack-evidence")
        let file = folder.appendingPathComponent("\(service)-\(key)-\(UUID().uuidString.prefix(8)).jsonl")
        do {
            let (cluster, database) = (run.suite.cluster, run.suite.database)
            let text = [
                try await cluster.sql(history, database: database), try await cluster.sql(state, database: database),
            ]
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try text.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
            report.faults.append("\(service): the state of \(key) is not its fold; see \(file.path)")
        } catch { report.faults.append("\(service): the state of \(key) is not its fold; not kept: \(error)") }
    }

    private func hostile(_ report: inout AttackReport) {
        report.hostileAnswers = run.hostileBook.answers
        for fault in run.hostileBook.faults {
            report.faults.append("hostile, \(fault.count) times: \(fault.name)\n    \(fault.example)")
        }
    }

    private func lines(_ report: inout AttackReport) {
        var lines = LogLines()
        for replica in run.suite.replicas { for transcript in replica.transcripts { lines.add(transcript.lines) } }
        report.faults += lines.faults
        report.remarks += lines.remarks
    }
}
