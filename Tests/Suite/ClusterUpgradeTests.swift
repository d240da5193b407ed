import Foundation
import TestSupport
import Testing

/// `deploy/up` with a PostgreSQL whose package was upgraded while it runs.
@Suite("deploy/up after an upgrade of PostgreSQL", .tags(.database, .processes), .timeLimit(.minutes(5)))
struct ClusterUpgradeTests {
    @Test func `a server whose programs were replaced is restarted with its data`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pg-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let shell = try ChildProcess.start(
            "/bin/bash", ["-c", Self.script, "upgrade", folder.path, Repository.file("deploy/lib").path])
        let status = try await shell.exit(within: 240)
        let lines = shell.output.lines
        #expect(status == .exited(0), "\(lines) \(shell.errors.tail())")
        #expect(lines.filter { $0.contains("Restarting PostgreSQL") }.count == 1, "\(lines)")
        #expect(lines.last == "the table has 7", "\(lines)")
        try FileManager.default.removeItem(at: folder)
    }

    /// Uses a copy of the server's programs that the test can replace. They find the rest of the installation relative
    /// to their own path.
    private static let script = """
        set -euo pipefail
        base=$1 lib=$2
        chmod 755 "$base"
        for part in output packages process archive cluster suite; do source "$lib/$part.sh"; done
        real=$(postgres_programs)
        share=$("$real/pg_config" --sharedir)
        copy=$base$real
        mkdir -p "$copy" "$base$(dirname "$share")"
        cp "$real"/{postgres,initdb,pg_ctl,psql} "$copy"
        ln -s "$(dirname "$real")/lib" "$(dirname "$copy")/lib"
        ln -s "$share" "$base$share"
        postgres_programs() { printf '%s' "$copy"; }

        use_data "$base/data"
        make_folders
        make_secrets
        find_cluster
        trap stop_cluster EXIT
        start_cluster 1
        first=$(pid_of database)
        echo 'CREATE TABLE kept AS SELECT 7 AS n' | administer dormouse
        restart_outdated_cluster
        [[ $(pid_of database) == "$first" ]] || fail 'the server was restarted without a reason'

        cp "$real/postgres" "$copy/postgres.new"
        mv "$copy/postgres.new" "$copy/postgres"
        restart_outdated_cluster
        second=$(pid_of database)
        [[ $second != "$first" ]] || fail 'it was not restarted'
        restart_outdated_cluster
        [[ $(pid_of database) == "$second" ]] || fail 'the server was restarted twice'
        kept=$(echo 'SELECT n FROM kept' | administer dormouse)
        stop_cluster
        trap - EXIT
        echo "the table has $kept"
        """
}
