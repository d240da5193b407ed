import Foundation
import Glibc
import TestSupport
import Testing

/// The commands of `lifecycle` for the keys that sign tokens.
@Suite("Commands for signing keys", .tags(.database, .processes), .timeLimit(.minutes(3))) struct KeyCommandTests {
    @Test func `rotate-key and void-keys say what they did, and leave a row of the audit trail`() async throws {
        let cluster = try await PrivateCluster.shared()
        let database = try await cluster.makeNamedDatabase()
        let url = cluster.url(database: database)
        func run(_ command: String) async throws -> String {
            let process = try ChildProcess.start(ChildProcess.product("lifecycle"), [command, "--database-url", url])
            let end = try await process.exit(within: 60)
            #expect(end == .exited(0), "\(command): \(process.errors.tail())")
            return process.output.lines.joined(separator: "\n")
        }
        try await ChildProcess.migrate("lifecycle", url)
        // A service adds the first key at its start.
        let (service, _) = try await ChildProcess.serve("lifecycle", url, ["--insecure-dev", "--log-level", "warning"])
        defer { service.signal(SIGTERM) }
        #expect(try await run("void-keys").contains("has one key, and keeps it"))
        #expect(try await run("rotate-key").contains("signs with the key lifecycle-2"))
        #expect(try await run("void-keys").contains("refuses the tokens of lifecycle-1"))
        let rows = try await cluster.sql(
            """
            SELECT action, actor_kind, coalesce(subject, ''), address IS NULL FROM bus.audit
            WHERE action LIKE 'signingKey.%' ORDER BY at, id
            """, database: database)
        let lines = ["signingKey.rotated|commandLine|signingKey:lifecycle-2|t", "signingKey.removed|commandLine||t"]
        #expect(rows.trimmingCharacters(in: .whitespacesAndNewlines) == lines.joined(separator: "\n"))
    }
}
