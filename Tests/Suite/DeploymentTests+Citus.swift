import Foundation
import TestSupport
import Testing

extension DeploymentTests {
    private static let overlay = root + "/deploy/docker/citus.yml"

    @Test func `the overlay for Citus has a coordinator and workers that only the nodes reach`() async throws {
        #expect(try await check("citus", [Self.compose, Self.overlay]) == [])
        try await expectSchema(ofOverlay: Self.overlay)
    }

    @Test(arguments: [
        ("command: [worker-1, worker-2]", "command: [worker-1]"), ("wal_level=logical", "wal_level=replica"),
        ("max_prepared_transactions=300", "max_prepared_transactions=299"), ("internal: true", "internal: false"),
        ("max_connections=300", "max_connections=200"), ("networks: [nodes]\n", "networks: [nodes, inside]\n"),
        ("worker-2:/var/lib", "worker-1:/var/lib"), ("      worker-1: { condition: service_healthy }\n", ""),
        ("service_completed_successfully", "service_started"), ("docker/join.sh:/", "docker/joins.sh:/"),
        ("    image: citusdata/citus:13.0.3", "    image: citusdata/citus:12.1.0"),
    ])
    func `a fault in the overlay for Citus is found`(right: String, wrong: String) async throws {
        let faults = try await changing(Self.overlay, right, wrong) { [self] file in
            try await check("citus", [Self.compose, file])
        }
        #expect(!faults.isEmpty)
    }

    /// Expects that an overlay is a compose file.
    func expectSchema(ofOverlay overlay: String) async throws {
        let checker = try await Self.python().interpreter.replacing("/bin/python", with: "/bin/check-jsonschema")
        let check = try ChildProcess.start(checker, ["--builtin-schema", "vendor.compose-spec", overlay])
        #expect(try await check.exit() == .exited(0), "\(check.output.tail()) \(check.errors.tail())")
    }

    /// Passes a copy of a file with other words in it.
    func changing<T>(
        _ path: String, _ right: String, _ wrong: String, _ body: (String) async throws -> T
    ) async throws -> T {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        try #require(text.contains(right))
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).yml")
        defer { try? FileManager.default.removeItem(at: file) }
        try text.replacing(right, with: wrong).write(to: file, atomically: true, encoding: .utf8)
        return try await body(file.path)
    }
}
