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
        }
    }
}
