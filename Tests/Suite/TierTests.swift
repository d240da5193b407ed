import Foundation
import Records
import TestSupport
import Testing

/// The package that `deploy/test --fast` builds.
@Suite(.tags(.processes), .timeLimit(.minutes(5))) struct TierTests {
    @Test func `pure tests depend on no module of a service and on no database`() async throws {
        let names = try await Self.targets(["DORMOUSE_TESTS": "pure"]).map { $0["name"]?.string ?? "" }
        #expect(Set(names).isSuperset(of: ["LifecycleMachineTests", "GoldenTests", "RecordsTests", "Traces"]))
        let impure = names.filter { name in
            name.hasSuffix("Service") || name.hasSuffix("ServiceTests")
                || ["CLibpq", "Postgres", "EventLog", "Runtime", "ServiceKit", "TestSupport"].contains(name)
        }
        #expect(impure.isEmpty)
    }

    @Test func `pure tests use no package for networks`() async throws {
        let products = try await Self.targets(["DORMOUSE_TESTS": "pure"]).flatMap { target in
            (target["dependencies"]?.items ?? []).compactMap { $0["product"]?.items?.first?.string }
        }
        #expect(Set(products) == ["Collections", "Crypto"])
    }

    @Test func `the tests of every machine are pure`() async throws {
        let all = try await Self.targets([:])
        let pure = Set(try await Self.targets(["DORMOUSE_TESTS": "pure"]).map { $0["name"]?.string ?? "" })
        let machines = all.compactMap { $0["name"]?.string }.filter { $0.hasSuffix("Machine") }
        #expect(machines.count == 4)
        for machine in machines { #expect(pure.contains("\(machine)Tests")) }
    }

    /// Returns the targets of the package as the package manager sees them.
    private static func targets(_ environment: [String: String]) async throws -> [JSON] {
        let scratch = FileManager.default.temporaryDirectory.appendingPathComponent("tiers-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: scratch) }
        let dump = try ChildProcess.start(
            "/usr/bin/env",
            [
                "swift", "package", "--package-path", Repository.root.path, "--scratch-path", scratch.path,
                "dump-package",
            ], environment: environment)
        #expect(try await dump.exit(within: 120) == .exited(0), "\(dump.errors.tail())")
        let text = dump.output.lines.joined(separator: "\n")
        return try JSON(parsing: Array(text.utf8))["targets"]?.items ?? []
    }
}
