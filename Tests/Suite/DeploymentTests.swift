import Foundation
import Records
import TestSupport
import Testing

/// Static checks of the files in `deploy` and of docker-compose.yml.
@Suite("Deployment", .tags(.processes, .stockClient), .timeLimit(.minutes(10))) struct DeploymentTests {
    static let root = Repository.root.path
    static let compose = root + "/docker-compose.yml"
    private static let manifests = root + "/deploy/kubernetes"

    static func python() async throws -> PythonEnvironment {
        try await .make(["check-jsonschema==0.39.0", "PyYAML==6.0.3", "kubernetes-validate==1.37.0"])
    }

    @Test(arguments: [("vendor.compose-spec", compose), ("vendor.renovate", root + "/.renovaterc.json")])
    func `the compose file and the file of Renovate are valid`(schema: String, file: String) async throws {
        let checker = try await Self.python().interpreter.replacing("/bin/python", with: "/bin/check-jsonschema")
        let check = try ChildProcess.start(checker, ["--builtin-schema", schema, file])
        #expect(try await check.exit() == .exited(0), "\(check.output.tail()) \(check.errors.tail())")
    }

    /// The validator is the one of Python's jsonschema, which knows nothing of this project.
    @Test func `the schema of scenarios accepts the ready ones and refuses a fault`() async throws {
        let printed = try ChildProcess.start(ChildProcess.product("fleet"), ["scenario", "schema"])
        #expect(try await printed.exit() == .exited(0))
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let schema = folder.appendingPathComponent("schema.json").path
        try printed.output.lines.joined(separator: "\n").write(toFile: schema, atomically: true, encoding: .utf8)
        let checker = try await Self.python().interpreter.replacing("/bin/python", with: "/bin/check-jsonschema")
        func check(_ arguments: [String]) async throws -> (ok: Bool, text: String) {
            let check = try ChildProcess.start(checker, arguments)
            return (try await check.exit() == .exited(0), "\(check.output.tail()) \(check.errors.tail())")
        }
        let metaschema = try await check(["--check-metaschema", schema])
        #expect(metaschema.ok, "\(metaschema.text)")
        let scenarios = Self.root + "/deploy/scenarios"
        let names = try FileManager.default.contentsOfDirectory(atPath: scenarios).filter { $0.hasSuffix(".yaml") }
        let ready = try await check(["--schemafile", schema] + names.map { scenarios + "/" + $0 })
        #expect(ready.ok && names.count == 8, "\(ready.text)")
        let text = try String(contentsOfFile: scenarios + "/morning-herd.yaml", encoding: .utf8)
        for (right, wrong) in [("send: silent", "send: quiet"), ("share:", "shares:"), ("count: ", "count: -")] {
            try #require(text.contains(right), "\(right)")
            let file = folder.appendingPathComponent("wrong.yaml").path
            try text.replacing(right, with: wrong).write(toFile: file, atomically: true, encoding: .utf8)
            #expect(try await !check(["--schemafile", schema, file]).ok, "\(wrong)")
        }
    }

    /// Images are pinned, no container runs as root, secrets are files, health checks and start order are right.
    ///
    /// Each variable of the compose file and of `deploy/up` is a setting of its service. Each setting of `--help` is
    /// in the compose file, as a value or from `.env`. Exceptions are settings of the migration, settings of the image,
    /// and a list of settings that need a mount.
    @Test func `the containers are hardened and their settings exist`() async throws {
        let faults = try await faults(of: Self.compose)
        #expect(faults.isEmpty)
    }

    @Test(arguments: [
        ("image: postgres:17.11-trixie", "image: postgres:latest"), ("APNS_PORT:", "APNS_PROT:"),
        (#"user: "99:99""#, #"user: "0:0""#), (#"user: "10002:10002""#, #"user: "10001:10001""#),
        ("secrets: [database-push, operator-keys]", "secrets: [operator-keys]"),
        ("read_only: true", "read_only: false"), ("condition: service_healthy", "condition: service_started"),
        (#""${BIND_ADDRESS:-127.0.0.1}:9090:9090""#, #""9090:9090""#), ("PARTITIONS: ", "PARTS: "),
        ("      FETCH_THRESHOLD: ${FETCH_THRESHOLD:-}\n", ""), ("ROLE_PASSWORD_FILE=", "ROLE_PASSWORD="),
        ("POSTGRES_PASSWORD_FILE: /run/secrets/database-superuser", "POSTGRES_PASSWORD: secret"),
        (
            "  pull_policy: never\n  restart: unless-stopped\n  depends_on:",
            "  build: .\n  restart: unless-stopped\n  depends_on:"
        ),
        ("secrets: [database-ops, operator-keys]", "secrets: [database-ops, database-owner, operator-keys]"),
        ("POSTGRES_USER: postgres", "POSTGRES_USER: dormouse"),
        ("networks: [inside, origins]", "networks: [inside, outside]"),
        ("EGRESS_INTERNAL:-true", "EGRESS_INTERNAL:-false"),
    ])
    func `a fault in the compose file is found`(right: String, wrong: String) async throws {
        let text = try String(contentsOfFile: Self.compose, encoding: .utf8)
        try #require(text.contains(right))
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).yml")
        defer { try? FileManager.default.removeItem(at: file) }
        try text.replacing(right, with: wrong).write(to: file, atomically: true, encoding: .utf8)
        #expect(try await !faults(of: file.path).isEmpty)
    }

    /// The table has one row for each setting of `--help`, and no other rows.
    @Test func `the table has every setting`() async throws {
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

    @Test func `the load balancer leaves a replica before the replica closes its port`() throws {
        let proxy = try String(contentsOfFile: Self.root + "/deploy/docker/haproxy.cfg", encoding: .utf8)
        #expect(proxy.contains("\n    option redispatch 1\n"))
        let checks = try #require(proxy.firstMatch(of: #/default-server inter (\d+)s fall (\d+)/#))
        let interval = try #require(Int(checks.1))
        let failures = try #require(Int(checks.2))
        let compose = try String(contentsOfFile: Self.compose, encoding: .utf8)
        let drain = try #require(compose.firstMatch(of: #/DRAIN_SECONDS: \$\{DRAIN_SECONDS:-(\d+)\}/#))
        let seconds = try #require(Int(drain.1))
        #expect(seconds > interval * failures)
    }

    /// With few open files, the gateway starts, limits the connections of an address, and stops while streams are open.
    @Test func `the gateway starts with few open files, and limits each address`() async throws {
        let gateway = Self.root + "/deploy/docker/haproxy.cfg"
        #expect(try await check("gateway", [gateway]).isEmpty)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).cfg")
        defer { try? FileManager.default.removeItem(at: file) }
        let text = try String(contentsOfFile: gateway, encoding: .utf8)
        for (right, wrong) in [
            ("fd-hard-limit 50000", "maxconn 20000"), ("hard-stop-after 5s", "hard-stop-after 60s"),
            ("GET /readyz", "GET /healthz"), ("    maxconn 8000\n", ""),
            (#""${GATEWAY_CONNECTIONS_PER_ADDRESS}""#, "100"),
        ] {
            try #require(text.contains(right))
            try text.replacing(right, with: wrong).write(to: file, atomically: true, encoding: .utf8)
            #expect(try await !check("gateway", [file.path]).isEmpty)
        }
    }

    /// Checks the configuration and the alert rules, and runs the tests of the rules.
    @Test(arguments: [
        ["check", "config", "prometheus.yml"], ["check", "config", "prometheus.https.yml"],
        ["check", "rules", "rules.yml"], ["test", "rules", "rules.test.yml"],
    ])
    func `promtool accepts the files of Prometheus`(arguments: [String]) async throws {
        let folder = Self.root + "/deploy/prometheus/"
        let check = try ChildProcess.start(
            "/usr/bin/promtool", Array(arguments.dropLast()) + [folder + (arguments.last ?? "")])
        #expect(try await check.exit() == .exited(0), "\(check.output.tail()) \(check.errors.tail())")
    }

    @Test func `each alert has a section of the runbook`() throws {
        let rules = try String(contentsOfFile: Self.root + "/deploy/prometheus/rules.yml", encoding: .utf8)
        let page = try String(contentsOfFile: Self.root + "/deploy/runbook.md", encoding: .utf8)
        let alerts = rules.matches(of: #/alert: (\w+)/#).map { String($0.1) }
        let sections = page.matches(of: #/\n## (\w+)\n/#).map { String($0.1) }
        #expect(alerts == sections && !alerts.isEmpty)
        let named = rules.matches(of: #/runbook: "deploy/runbook\.md\#(\w+)"/#).map { String($0.1) }
        #expect(named == alerts.map { $0.lowercased() })
    }

    @Test func `alerts and dashboards use metrics that the services have`() throws {
        let table = try String(contentsOfFile: Self.root + "/Services/Ops/README.md", encoding: .utf8)
        let rules = try String(contentsOfFile: Self.root + "/deploy/prometheus/rules.yml", encoding: .utf8)
        var known = Set(table.matches(of: #/\n\| `(dormouse_\w+)` \|/#).map { String($0.1) })
        known.formUnion(rules.matches(of: #/record: (\S+)/#).map { String($0.1) })
        let folder = Self.root + "/deploy/grafana/dashboards"
        let dashboards = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".json") }
        let texts = try dashboards.map { try String(contentsOfFile: folder + "/" + $0, encoding: .utf8) }
        var used: Set<String> = []
        for text in texts + [rules] {
            for found in text.matches(of: #/dormouse(?:_|:requests|:notifications)[a-z0-9_:]+/#) {
                let name = String(found.output)
                let base = name.replacing(#/_(bucket|sum|count)$/#, with: "")
                used.insert(known.contains(name) ? name : base)
            }
        }
        #expect(used.count > 20 && used.isSubset(of: known), "\(used.subtracting(known))")
    }

    /// Each document matches the schema of Kubernetes. Commands, probes and restrictions equal docker-compose.yml.
    /// Network policies allow only the needed connections. The table of metrics has the metrics of autoscalers.
    @Test func `the manifests match Kubernetes and the compose file`() async throws {
        #expect(try await faults(ofManifestsIn: Self.manifests) == [])
    }

    /// A file of the manifests, a text in it, and a text in its place that is a fault.
    typealias ManifestFault = (file: String, right: String, wrong: String)

    private static let manifestFaults: [ManifestFault] = [
        ("kustomization.yaml", "PGSSLMODE=verify-full", "PGSSLMODE=prefer"),
        ("kustomization.yaml", "  - volumes.yaml\n", ""), ("kustomization.yaml", "LOG_LEVEL=", "LOG_LEVLE="),
        ("push.yaml", "name: APNS_PORT", "name: APNS_PROT"), ("push.yaml", "enableServiceLinks: false", ""),
        ("push.yaml", "runAsNonRoot: true", "runAsNonRoot: false"), ("fetch.yaml", "path: /readyz", "path: /ready"),
        ("push.yaml", "until push check", "until push serve"), ("ops.yaml", "initContainers:", "noContainers:"),
        ("fetch.yaml", "containerPort: 8082", "containerPort: 8083"),
        ("lag/kustomization.yaml", "consumer: fetch", "consumer: push"),
        ("lag/kustomization.yaml", "metric: { name: dormouse_consumer_lag", "metric: { name: consumer_lag"),
        ("lag/kustomization.yaml", "/spec/metrics/-", "/spec/metric/-"),
        ("lag/kustomization.yaml", "averageValue:", "averageValues:"),
        ("fetch.yaml", "    - type: Resource", "    - type: External"),
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
        ("examples/ingress.yaml", "name: fetch,", "name: fetcher,"), ("examples/ingress.yaml", "pathType:", "pathTyp:"),
        ("examples/servicemonitor.yaml", "port: http", "port: https"),
        ("examples/servicemonitor.yaml", "part-of: dormouse", "part-of: dormice"),
        ("examples/providers.yaml", "targetPort: apns", "targetPort: apn"),
        ("examples/kustomization.yaml", "name: migrate", "name: migration"),
        ("examples/kustomization.yaml", "PROXY_PROTOCOL_FROM", "PROXY_PROTOCOL"),
        ("tls/kustomization.yaml", "readinessProbe/httpGet/scheme", "readinessProbe/httpGet/schema"),
        ("tls/kustomization.yaml", "TLS_KEY", "TLS_KEYS"),
        ("tls/kustomization.yaml", "prometheus.io~1scheme", "prometheus.io~1path"),
        ("examples/prometheusrule.yaml", "for: 1m", "for: 2m"),
        ("examples/prometheusrule.yaml", "  - name: dormouse-objectives", "  - name: objectives"),
        ("tls/kustomization.yaml", "name: SERVICES_AUTH", "name: AUTH"),
        ("tls/kustomization.yaml", "https://fetch:8082", "http://fetch:8082"),
        ("examples/kustomization.yaml", "/spec/template/metadata/annotations", "/spec/metadata/annotations"),
        ("examples/kustomization.yaml", "../kubernetes", ".."), ("examples/kustomization.yaml", ":4318", ":4317"),
        ("examples/database.yaml", "name: postgres", "name: postgresql"),
        ("examples/database.yaml", "metadata.name: databases", "metadata.name: database"),
        ("examples/database.yaml", "{ port: 5432 }", "{ port: 5433 }"),
        ("examples/database.yaml", "part-of: dormouse", "part-of: dormice"),
        ("examples/database.yaml", "policyTypes:", "policyType:"),
        ("examples/traces.yaml", "fetch, push,", "push,"), ("examples/traces.yaml", "port: 4318", "port: 4317"),
    ]

    /// The lines of the check for each fault. One process checks all, because the schemas load slowly.
    private static let foundFaults = Task { () async throws -> [[String]] in
        let root = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: root) }
        let help = try await SuiteHelp.folder().path
        let runs = try manifestFaults.enumerated().map { number, fault in
            let folder = root.appendingPathComponent("\(number)")
            try FileManager.default.copyItem(atPath: manifests, toPath: folder.path)
            let manifest = folder.appendingPathComponent(fault.file)
            let text = try String(contentsOf: manifest, encoding: .utf8)
            let place = try #require(text.range(of: fault.right), "\(fault)")
            try text.replacingCharacters(in: place, with: fault.wrong)
                .write(to: manifest, atomically: true, encoding: .utf8)
            return JSON.array((inputs(ofManifestsIn: folder.path) + [help]).map { .string($0) })
        }
        let list = root.appendingPathComponent("runs")
        try runs.map { String(decoding: $0.bytes, as: UTF8.self) }.joined(separator: "\n")
            .write(to: list, atomically: true, encoding: .utf8)
        let lines = try await python().run(script("every"), [script("manifests"), list.path], within: 300)
        return try lines.map { try JSON(parsing: Array($0.utf8)).items?.compactMap(\.string) ?? [] }
    }

    @Test(arguments: manifestFaults.indices) func `a fault in a manifest is found`(number: Int) async throws {
        let found = try await Self.foundFaults.value
        try #require(found.count == Self.manifestFaults.count)
        #expect(!found[number].isEmpty, "\(Self.manifestFaults[number])")
    }

    private func faults(of compose: String) async throws -> [String] {
        try await check("deployment", [compose, Self.root + "/deploy/docker/Dockerfile", Self.root + "/deploy/up"])
    }

    private func faults(ofManifestsIn folder: String) async throws -> [String] {
        try await check("manifests", Self.inputs(ofManifestsIn: folder))
    }

    private static func inputs(ofManifestsIn folder: String) -> [String] {
        [folder, compose, root + "/Services/Ops/README.md"]
    }

    /// Runs a script with the `--help` of every service.
    func check(_ name: String, _ arguments: [String]) async throws -> [String] {
        let help = try await SuiteHelp.folder().path
        return try await Self.python().run(Self.script(name), arguments + [help])
    }

    private static func script(_ name: String) throws -> String {
        try #require(Bundle.module.path(forResource: name, ofType: "py", inDirectory: "Python"))
    }
}

/// What `--help` of every service prints, in SERVICE.txt in a folder that all tests share.
private enum SuiteHelp {
    private static let written = Task { () async throws -> URL in
        let folder = URL(fileURLWithPath: ChildProcess.product("help"))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for service in SuiteService.allCases {
            let help = try ChildProcess.start(ChildProcess.product(service.rawValue), ["--help"])
            try #require(try await help.exit() == .exited(0))
            try help.output.lines.joined(separator: "\n").write(
                to: folder.appendingPathComponent(service.rawValue + ".txt"), atomically: true, encoding: .utf8)
        }
        return folder
    }

    static func folder() async throws -> URL { try await written.value }
}
