import Foundation
import TestSupport
import Testing

/// What stands in the files of `deploy` and in docker-compose.yml. Nothing of it is started here.
@Suite("Deployment", .timeLimit(.minutes(10))) struct DeploymentTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../..").standardized.path
    private static let compose = root + "/docker-compose.yml"
    private static let manifests = root + "/deploy/kubernetes"

    private func python() async throws -> PythonEnvironment {
        try await .make(["check-jsonschema==0.39.0", "PyYAML==6.0.3", "kubernetes-validate==1.37.0"])
    }

    @Test func theComposeFileIsOne() async throws {
        let checker = try await python().interpreter.replacing("/bin/python", with: "/bin/check-jsonschema")
        let check = try ChildProcess.start(checker, ["--builtin-schema", "vendor.compose-spec", Self.compose])
        #expect(try await check.exit() == .exited(0), "\(check.output.tail()) \(check.errors.tail())")
    }

    /// Images pinned, nobody root, secrets by file, health checks and orders right.
    ///
    /// Each variable that it sets is one that its service knows; so are those of `deploy/up`. The reverse: each setting of
    /// a service's `--help` stands in the compose file, as a value or as what `.env` says; or the migration or the image
    /// sets it; or it names a file of one's own, which needs a mount too, and then the check's list has it.
    @Test func whatItStartsIsHardened() async throws {
        let faults = try await faults(of: Self.compose)
        #expect(faults.isEmpty)
    }

    @Test(arguments: [
        ("image: postgres:17.6-bookworm", "image: postgres:latest"), ("APNS_PORT:", "APNS_PROT:"),
        (#"user: "99:99""#, #"user: "0:0""#), ("secrets: [database-push, operator-keys]", "secrets: [operator-keys]"),
        ("read_only: true", "read_only: false"), ("condition: service_healthy", "condition: service_started"),
        (#""${BIND_ADDRESS:-127.0.0.1}:9090:9090""#, #""9090:9090""#), ("PARTITIONS: ", "PARTS: "),
        ("      FETCH_THRESHOLD: ${FETCH_THRESHOLD:-}\n", ""), ("ROLE_PASSWORD_FILE=", "ROLE_PASSWORD="),
        ("POSTGRES_PASSWORD_FILE: /run/secrets/database-owner", "POSTGRES_PASSWORD: secret"),
    ])
    func aFaultIsFound(right: String, wrong: String) async throws {
        let text = try String(contentsOfFile: Self.compose, encoding: .utf8)
        try #require(text.contains(right))
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).yml")
        defer { try? FileManager.default.removeItem(at: file) }
        try text.replacing(right, with: wrong).write(to: file, atomically: true, encoding: .utf8)
        #expect(try await !faults(of: file.path).isEmpty)
    }

    /// One row for each setting of each service's `--help`, and no other.
    @Test func everySettingIsInTheTable() async throws {
        let table = Self.root + "/deploy/settings.md"
        #expect(try await check("settings", [table]).isEmpty)
        let text = try String(contentsOfFile: table, encoding: .utf8)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).md")
        defer { try? FileManager.default.removeItem(at: file) }
        for (right, wrong) in [("`10000`", "`1000`"), ("RETENTION_DAYS", "RETENTION_WEEKS")] {
            try text.replacing(right, with: wrong).write(to: file, atomically: true, encoding: .utf8)
            #expect(try await !check("settings", [file.path]).isEmpty)
        }
    }

    /// With Prometheus' own tool: what it scrapes, what it warns of, and when.
    @Test(arguments: [
        ["check", "config", "prometheus.yml"], ["check", "rules", "rules.yml"], ["test", "rules", "rules.test.yml"],
    ])
    func prometheusUnderstandsItsFiles(arguments: [String]) async throws {
        let folder = Self.root + "/deploy/prometheus/"
        let check = try ChildProcess.start(
            "/usr/bin/promtool", Array(arguments.dropLast()) + [folder + (arguments.last ?? "")])
        #expect(try await check.exit() == .exited(0), "\(check.output.tail()) \(check.errors.tail())")
    }

    /// Each document fits Kubernetes's schema; the services run, are asked and are confined as docker-compose.yml has
    /// it; who may speak to whom is what is needed; what they scale by is in the table of metrics.
    @Test func theManifestsFitKubernetesAndTheComposeFile() async throws {
        #expect(try await faults(ofManifestsIn: Self.manifests).isEmpty)
    }

    @Test(arguments: [
        ("kustomization.yaml", "  - volumes.yaml\n", ""), ("kustomization.yaml", "LOG_LEVEL=", "LOG_LEVLE="),
        ("push.yaml", "name: APNS_PORT", "name: APNS_PROT"), ("push.yaml", "enableServiceLinks: false", ""),
        ("push.yaml", "runAsNonRoot: true", "runAsNonRoot: false"), ("fetch.yaml", "path: /readyz", "path: /ready"),
        ("push.yaml", "until push check", "until push serve"), ("ops.yaml", "initContainers:", "noContainers:"),
        ("fetch.yaml", "containerPort: 8082", "containerPort: 8083"),
        ("fetch.yaml", "consumer: fetch", "consumer: push"),
        (
            "transfer.yaml", "matchLabels: { app.kubernetes.io/name: transfer }",
            "matchLabels: { app.kubernetes.io/name: push }"
        ),
        ("ops.yaml", "readOnlyRootFilesystem: true", ""),
        ("ops.yaml", "- { key: operator-keys, path: operator-keys }", ""),
        ("networkpolicies.yaml", "{ port: 5432 }", "{ port: 5433 }"),
        ("networkpolicies.yaml", "policyTypes: [Ingress, Egress]", "policyTypes: [Ingress]"),
        ("lifecycle.yaml", "maxUnavailable: 1", "maxUnavailible: 1"),
        ("migrate.yaml", "ROLE_PASSWORD_FILE=", "ROLE_PASSWORD="),
    ])
    func aFaultOfAManifestIsFound(file: String, right: String, wrong: String) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.copyItem(atPath: Self.manifests, toPath: folder.path)
        defer { try? FileManager.default.removeItem(at: folder) }
        let manifest = folder.appendingPathComponent(file)
        let text = try String(contentsOf: manifest, encoding: .utf8)
        let place = try #require(text.range(of: right))
        try text.replacingCharacters(in: place, with: wrong).write(to: manifest, atomically: true, encoding: .utf8)
        #expect(try await !faults(ofManifestsIn: folder.path).isEmpty)
    }

    private func faults(of compose: String) async throws -> [String] {
        try await check("deployment", [compose, Self.root + "/deploy/docker/Dockerfile", Self.root + "/deploy/up"])
    }

    private func faults(ofManifestsIn folder: String) async throws -> [String] {
        try await check("manifests", [folder, Self.compose, Self.root + "/Services/Ops/README.md"])
    }

    /// Runs a script with what every service says of its settings.
    private func check(_ name: String, _ arguments: [String]) async throws -> [String] {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for service in SuiteService.allCases {
            let help = try ChildProcess.start(ChildProcess.product(service.rawValue), ["--help"])
            try #require(try await help.exit() == .exited(0))
            try help.output.lines.joined(separator: "\n").write(
                to: folder.appendingPathComponent(service.rawValue + ".txt"), atomically: true, encoding: .utf8)
        }
        let script = try #require(Bundle.module.path(forResource: name, ofType: "py", inDirectory: "Python"))
        return try await python().run(script, arguments + [folder.path])
    }
}
