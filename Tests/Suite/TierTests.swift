import Foundation
import Records
import Synchronization
import TestSupport
import Testing

/// The parts of the package that `deploy/test --fast` and `deploy/up` build.
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
        #expect(Set(products) == ["Collections", "Crypto", "Mustache", "Yams"])
    }

    @Test func `the tests of every machine are pure`() async throws {
        let all = try await Self.targets([:])
        let pure = Set(try await Self.targets(["DORMOUSE_TESTS": "pure"]).map { $0["name"]?.string ?? "" })
        let machines = all.compactMap { $0["name"]?.string }.filter { $0.hasSuffix("Core") }
        #expect(machines.count == 4)
        for machine in machines { #expect(pure.contains("\(machine.dropLast("Core".count))MachineTests")) }
    }

    @Test func `the suite builds without tests and needs the same packages`() async throws {
        let suite = try await Self.targets(["DORMOUSE_BUILD": "suite"])
        let executables = suite.filter { $0["type"]?.string == "executable" }.compactMap { $0["name"]?.string }
        #expect(
            Set(executables) == ["lifecycle", "fetch", "push", "transfer", "ops", "fleet", "RecordGenerator"])
        // The folders that the image is built from.
        for path in suite.compactMap({ $0["path"]?.string }) {
            #expect(path.hasPrefix("Services/") || path.hasPrefix("Shared/"), "\(path)")
        }
        // Otherwise the package manager would resolve again in the same build folder.
        let all = try await Self.targets([:])
        #expect(Self.packages(suite) == Self.packages(all))
    }

    @Test func `without a Docker engine, the tests of the containers are skipped`() async throws {
        let test = try ChildProcess.start(
            Repository.file("deploy/test").path, ["--tier", "containers"], environment: ["DOCKER": "/bin/false"])
        #expect(try await test.exit(within: 60) == .exited(0))
        #expect(test.output.lines.last == "skipped: no Docker engine", "\(test.output.tail())")
    }

    @Test func `without namespaces, the test of the Debian package is skipped`() async throws {
        let test = try ChildProcess.start(
            "/usr/bin/env",
            ["PATH=/nonexistent", "/usr/bin/python3", Repository.file("Tests/Suite/Python/package.py").path])
        #expect(try await test.exit(within: 60) == .exited(0))
        #expect(test.output.lines.last?.hasPrefix("skipped: ") == true, "\(test.output.tail())")
    }

    /// Returns the packages that the targets depend on.
    private static func packages(_ targets: [JSON]) -> Set<String> {
        Set(
            targets.flatMap { target in
                (target["dependencies"]?.items ?? []).compactMap { $0["product"]?.items?.dropFirst().first?.string }
            })
    }

    private static let dumps = Mutex<[[String: String]: Task<[JSON], any Error>]>([:])

    /// Returns the targets of the package as the package manager sees them. It looks once for each environment.
    private static func targets(_ environment: [String: String]) async throws -> [JSON] {
        let task = dumps.withLock { dumps in
            let task = dumps[environment] ?? Task { try await dump(environment) }
            dumps[environment] = task
            return task
        }
        return try await task.value
    }

    private static func dump(_ environment: [String: String]) async throws -> [JSON] {
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
