import Foundation
import NIOHTTP1
import Records
import TestSupport
import Testing

/// `deploy/up --citus`.
@Suite("deploy/up --citus", .tags(.database, .processes), .timeLimit(.minutes(10))) struct CitusUpTests {
    @Test func `the suite runs on workers, or the error says how to install Citus`() async throws {
        try await Installation.using { installation in
            func up(_ more: String...) async throws -> (status: TestSupport.ExitStatus, errors: [String]) {
                let up = try installation.up(["--detach", "--no-fleet"] + more)
                return (try await up.exit(within: 400), up.errors.lines)
            }
            let first = try await up("--citus=2")
            guard try await PrivateCluster.hasCitus() else {
                #expect(first.status == .exited(1) && first.errors.count == 1, "\(first.errors)")
                #expect(first.errors[0].contains("the extension citus is not installed for PostgreSQL"))
                #expect(first.errors[0].contains("see deploy/citus.md"))
                return
            }
            #expect(first.status == .exited(0), "\(first.errors)")
            let path = "/v1/devices/phone"
            #expect(try await installation.call(.PUT, .lifecycle, path, ["profile": "ios18"]).status == 201)
            // A copy of the coordinator would lack the data of the workers.
            let backup = try await installation.run("backup", [installation.folder.path + "-backup"])
            #expect(backup.status == .exited(1) && backup.output.contains("deploy/citus.md"), "\(backup.output)")
            #expect(try await installation.down().exit(within: 180) == .exited(0))
            let other = try await up("--citus=3")
            #expect(other.status == .exited(1) && other.errors.contains { $0.contains("has 2 workers of Citus") })
            #expect(try await up().status == .exited(0), "the workers start without the option")
            #expect(try await installation.call(.GET, .lifecycle, path).status == 200)

            try await strand(installation)
            #expect(try await up().status == .exited(0), "the remains of workers do not prevent a start")
            #expect(try await installation.call(.GET, .lifecycle, path).status == 200)
            try await restart(installation)
            #expect(try await up().status == .exited(0))
            try await eventually(within: 60, describe: "the suite reads from the restarted worker") {
                try await installation.call(.GET, .lifecycle, path).status == 200
            }
            #expect(try await installation.down().exit(within: 180) == .exited(0))
            try await refuseRestore(installation)
            #expect(try await up().status == .exited(0))
            #expect(try await installation.call(.GET, .lifecycle, path).status == 200)
        }
    }

    /// Kills worker 1. Its `postmaster.pid` stays, and names a server that lives, as if its pid were used again: worker 2,
    /// which has no record, as after a kill of `up` before it wrote one.
    private func strand(_ installation: Installation) async throws {
        let script = """
            kill -KILL "$(cut -d ' ' -f 1 "$0/run/worker-1.pid")"
            sed -i "1s/.*/$(cut -d ' ' -f 1 "$0/run/worker-2.pid")/" "$1/workers/1/data/postmaster.pid"
            rm "$0/run/worker-2.pid"
            """
        try await run(script, installation)
    }

    /// Restarts the servers as after an upgrade of PostgreSQL, which has replaced the programs of worker 2 only.
    private func restart(_ installation: Installation) async throws {
        let script = """
            cd "$2"
            for part in output packages process archive cluster citus suite; do source "deploy/lib/$part.sh"; done
            use_data "$0"
            find_cluster
            is_outdated() { [[ $1 == worker-2 ]]; }
            former=$(cat "$runs/worker-2.pid")
            others=$(cat "$runs/database.pid" "$runs/worker-1.pid")
            restart_outdated_cluster
            [[ $(cat "$runs/worker-2.pid") != "$former" ]] && pid_of worker-2
            [[ $(cat "$runs/database.pid" "$runs/worker-1.pid") == "$others" ]]
            """
        try await run(script, installation)
    }

    /// A restored coordinator would be joined to workers with other data.
    private func refuseRestore(_ installation: Installation) async throws {
        let backup = installation.folder.appendingPathComponent("backups/first").path
        let script = """
            cd "$2"
            for part in output backup; do source "deploy/lib/$part.sh"; done
            mkdir -p "$3/content" "$3/database"
            write_manifest "$3" 'time 2026-11-26T00:00:00Z' 'version 0.0.1' 'kind cluster' "postgres $(<"$1/data/PG_VERSION")"
            """
        try await run(script, installation, backup)
        let control = installation.database.appendingPathComponent("data/global/pg_control")
        let before = try Data(contentsOf: control)
        let refused = try await installation.run("restore", ["--replace", backup])
        #expect(refused.status == .exited(1) && refused.output.contains("on workers of Citus"), "\(refused.output)")
        #expect(refused.output.contains("deploy/citus.md"))
        #expect(try Data(contentsOf: control) == before)
    }

    /// Runs a script with the data folder, the folder of the database and the checkout.
    private func run(_ script: String, _ installation: Installation, _ more: String...) async throws {
        let root = Repository.file("deploy").deletingLastPathComponent().path
        let arguments = [installation.folder.path, installation.database.path, root] + more
        let shell = try ChildProcess.start(
            "/bin/bash", ["-euo", "pipefail", "-c", script] + arguments, environment: installation.environment)
        #expect(try await shell.exit(within: 120) == .exited(0), "\(shell.output.tail()) \(shell.errors.tail())")
    }
}
