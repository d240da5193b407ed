// swift-tools-version: 6.2
import PackageDescription

// All targets have the same strict rules.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let httpClient = Target.Dependency.product(name: "AsyncHTTPClient", package: "async-http-client")
let jwt = Target.Dependency.product(name: "JWTKit", package: "jwt-kit")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let collections = Target.Dependency.product(name: "Collections", package: "swift-collections")
let asyncAlgorithms = Target.Dependency.product(name: "AsyncAlgorithms", package: "swift-async-algorithms")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioHTTP2 = Target.Dependency.product(name: "NIOHTTP2", package: "swift-nio-http2")
let nioHPACK = Target.Dependency.product(name: "NIOHPACK", package: "swift-nio-http2")
let nioTLS = Target.Dependency.product(name: "NIOTLS", package: "swift-nio")
let x509 = Target.Dependency.product(name: "X509", package: "swift-certificates")
let asn1 = Target.Dependency.product(name: "SwiftASN1", package: "swift-asn1")
let structuredFields = Target.Dependency.product(
    name: "RawStructuredFieldValues", package: "swift-http-structured-headers")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")

/// The shared modules that do not use the database.
let pure: [Target.Dependency] = ["Records", "Timeline", "Contracts", "Machines", collections]
let durable: [Target.Dependency] =
    pure + [
        "Postgres", "EventLog", "Runtime", "Telemetry", "Identity", "HTTPKit", "ServiceKit", hummingbird, httpTypes,
        logging, lifecycle,
    ]

/// Generates the code of records.
func generatesRecords() -> [Target.PluginUsage] { [.plugin(name: "GenerateRecords")] }

func shared(
    _ name: String, _ dependencies: [Target.Dependency], resources: [Resource]? = nil,
    plugins: [Target.PluginUsage] = []
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Shared/\(name)", resources: resources, swiftSettings: strict,
        plugins: plugins)
}

/// A service is three targets: its pure machine, its routes and wiring, its executable.
/// No service depends on another.
func service(
    _ name: String, machine: Bool = true, _ more: [Target.Dependency] = [], resources: [Resource]? = nil
) -> [Target] {
    let rules: [Target] =
        machine
        ? [
            .target(
                name: "\(name)Core", dependencies: pure, path: "Services/\(name)/Machine", swiftSettings: strict,
                plugins: generatesRecords())
        ] : []
    let own: [Target.Dependency] = machine ? [.target(name: "\(name)Core")] : []
    return rules + [
        .target(
            name: "\(name)Service", dependencies: durable + own + more, path: "Services/\(name)/Service",
            resources: resources, swiftSettings: strict, plugins: generatesRecords()),
        .executableTarget(
            name: name.lowercased(),
            dependencies: [.target(name: "\(name)Service"), "ServiceKit"], path: "Services/\(name)/Main",
            swiftSettings: strict),
    ]
}

func tests(
    _ name: String, _ path: String, _ dependencies: [Target.Dependency], resources: [Resource]? = nil
) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, path: "Tests/\(path)", resources: resources,
        swiftSettings: strict,
        plugins: generatesRecords())
}

/// The tests of a machine. They need no database, no network and no other process.
func machineTests(_ name: String) -> Target {
    tests(
        "\(name)MachineTests", "Services/\(name)/Machine",
        pure + ["RandomScenarios", "MachineTesting", "Traces", .target(name: "\(name)Core")])
}

// Statements instead of one long expression, which the compiler would type-check slowly at every build.
var targets: [Target] = [
    .systemLibrary(
        name: "CLibpq", path: "Shared/CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(name: "CMalloc", path: "Shared/CMalloc"),
    .target(
        name: "RecordGeneration", path: "Shared/RecordGenerator", exclude: ["Main"], swiftSettings: strict),
    .executableTarget(
        name: "RecordGenerator", dependencies: ["RecordGeneration"], path: "Shared/RecordGenerator/Main",
        swiftSettings: strict),
    .plugin(
        name: "GenerateRecords", capability: .buildTool(), dependencies: ["RecordGenerator"],
        path: "Shared/GenerateRecords"),
    shared("CommandLines", [arguments]),
    shared("Records", [collections]),
    shared("Timeline", ["Records"]),
    shared("Contracts", ["Records", "Timeline", collections, crypto], plugins: generatesRecords()),
    shared("Machines", ["Records", "Timeline", "Contracts", collections]),
    shared("Telemetry", ["Records", "Timeline", logging]),
    shared("Postgres", ["CLibpq", "Telemetry", logging, collections, crypto]),
    shared(
        "EventLog", ["Records", "Timeline", "Contracts", "Postgres", "Telemetry", lifecycle, logging],
        resources: [.embedInCode("Migrations")]),
    shared(
        "Runtime",
        [
            "Records", "Timeline", "Contracts", "Machines", "Postgres", "EventLog", "Telemetry", lifecycle, logging,
            collections,
        ],
        resources: [.embedInCode("Migrations")]),
    shared(
        "Identity",
        ["Records", "Timeline", "Postgres", "EventLog", logging, lifecycle, jwt, crypto]),
    shared(
        "HTTPKit",
        [
            "Records", "Timeline", "Contracts", "Postgres", "EventLog", "Runtime", "Telemetry", "Identity", hummingbird,
            hummingbirdCore, httpTypes, logging, lifecycle, crypto, collections, asyncAlgorithms, nioCore, nioHTTP1,
            nioSSL,
        ]),
    shared(
        "ServiceKit",
        [
            "CMalloc", "Records", "Timeline", "Contracts", "Machines", "Postgres", "EventLog", "Runtime", "Telemetry",
            "Identity", "HTTPKit", hummingbird, hummingbirdCore, httpTypes, logging, lifecycle, unixSignals,
            "CommandLines", arguments, nioCore, nioPosix, nioSSL,
        ], plugins: generatesRecords()),
    // Seeds, traces, stored states and small machines: all that pure tests share.
    .target(
        name: "MachineTesting", dependencies: pure, path: "Tests/MachineTesting", swiftSettings: strict,
        plugins: generatesRecords()),
    .target(
        name: "TestSupport",
        dependencies: [
            "Records", "Timeline", "Contracts", "Machines", "Postgres", "EventLog", "Runtime", "MachineTesting",
            httpClient, nioCore, nioPosix, logging, lifecycle, collections,
        ],
        path: "Tests/Support", exclude: ["CounterService"], swiftSettings: strict, plugins: generatesRecords()),
    // Attacks the whole suite as processes and judges the result. It sees the suite through HTTP and the log.
    .target(
        name: "Attack",
        dependencies: [
            "Records", "Contracts", "Postgres", "EventLog", "TestSupport", httpClient, crypto, nioCore, nioPosix,
            nioHTTP1, nioSSL, logging,
        ],
        path: "Tests/Attack", exclude: ["README.md"], swiftSettings: strict),
    .executableTarget(
        name: "benchmarks",
        dependencies: pure + [
            "Postgres", "EventLog", "Runtime", "TestSupport", "RandomScenarios", "Attack", "FetchCore", httpClient,
            arguments,
            crypto, nioCore, nioHTTP1, logging, lifecycle, unixSignals,
        ],
        path: "Tests/Benchmarks", swiftSettings: strict),
    .executableTarget(
        name: "CounterService",
        dependencies: [
            "Timeline", "Contracts", "Machines", "Postgres", "EventLog", "Runtime", "TestSupport", logging, lifecycle,
            unixSignals,
        ],
        path: "Tests/Support/CounterService", swiftSettings: strict),
    tests("SupportTests", "Shared/Support", ["Records", "TestSupport", nioCore, nioPosix]),
    tests("AttackTests", "Shared/Attack", ["Attack", "TestSupport", nioCore, nioHTTP1]),
    tests("RecordsTests", "Shared/Records", ["Records", "MachineTesting", collections]),
    tests("RecordGeneratorTests", "Shared/RecordGenerator", ["RecordGeneration"]),
    tests("MachinesTests", "Shared/Machines", pure + ["MachineTesting"]),
    tests("MachineTestingTests", "Shared/MachineTesting", ["Records", "MachineTesting"]),
    tests(
        "PostgresTests", "Shared/Postgres", ["Postgres", "TestSupport", logging, nioCore, nioPosix, nioSSL]),
    tests(
        "RuntimeTests", "Shared/Runtime",
        pure + ["Postgres", "EventLog", "Runtime", "TestSupport", "CounterService", logging, lifecycle]),
    tests(
        "EventLogTests", "Shared/EventLog", pure + ["Postgres", "EventLog", "Runtime", "TestSupport", logging]),
    tests(
        "ServiceKitTests", "Shared/ServiceKit",
        durable + ["TestSupport", httpClient, nioCore, nioPosix, nioHTTP1, nioSSL]),
    tests(
        "LifecycleServiceTests", "Services/Lifecycle/Service",
        durable + [
            "LifecycleCore", "LifecycleService", "lifecycle", "TestSupport", "Traces", httpClient, nioCore, nioHTTP1,
        ]),
    tests(
        "EventLogOpsTests", "Shared/EventLogOps",
        pure + ["Postgres", "EventLog", "Runtime", "TestSupport", logging, lifecycle]),
    tests(
        "OpsServiceTests", "Services/Ops/Service",
        durable + [
            "LifecycleCore", "OpsService", "TestSupport", httpClient, nioCore, nioHTTP1, nioPosix, nioSSL,
        ]),
    tests(
        "PushServiceTests", "Services/Push/Service",
        durable + [
            "PushCore", "PushService", "push", "TestSupport", httpClient, crypto, jwt, nioCore,
            nioHTTP1,
            nioPosix, nioHTTP2, nioHPACK, nioSSL, x509, asn1,
        ],
        resources: [.copy("Python")]),
    tests(
        "TransferServiceTests", "Services/Transfer/Service",
        durable + [
            "TransferCore", "TransferService", "TestSupport", httpClient, nioCore, nioHTTP1,
            nioPosix,
            nioSSL, x509, asn1, crypto,
        ],
        resources: [.copy("Conformance")]),
    tests(
        "FetchServiceTests", "Services/Fetch/Service",
        durable + [
            "FetchCore", "FetchService", "fetch", "habits", "TestSupport", arguments, httpClient, nioCore, nioHTTP1,
        ]),
]
targets += ["Lifecycle", "Fetch", "Push", "Transfer"].map(machineTests)
targets += service("Lifecycle", [asyncAlgorithms])
targets += service("Fetch")
targets += [
    .executableTarget(
        name: "habits", dependencies: pure + ["FetchCore", "CommandLines", arguments],
        path: "deploy/examples/habits", swiftSettings: strict),
    // The simulator uses the suite only through HTTP; it shares only the modules for JSON and time.
    .target(
        name: "FleetService",
        dependencies: [
            "Records", "Timeline", "Contracts", httpClient, jwt, collections, nioCore, nioHTTP1, nioSSL,
        ],
        path: "Services/Fleet/Service", swiftSettings: strict),
    .executableTarget(
        name: "fleet", dependencies: ["FleetService", "CommandLines", "Records", "Timeline", arguments, unixSignals],
        path: "Services/Fleet/Main", swiftSettings: strict),
    tests(
        "FleetServiceTests", "Services/Fleet/Service",
        ["FleetService", "Records", "Timeline", "Contracts", "TestSupport", crypto]),
]
targets += service(
    "Push",
    [
        arguments, crypto, nioCore, nioPosix, nioHTTP2, nioHPACK, nioSSL, nioTLS, x509, asn1,
    ], resources: [.embedInCode("Migrations")])
// It reads the states of all machines and folds their events, so it depends on the machines.
targets += service(
    "Ops", machine: false,
    [
        "LifecycleCore", "FetchCore", "PushCore", "TransferCore", crypto, httpClient, nioCore, nioHTTP1,
        nioSSL,
    ],
    resources: [.embedInCode("Migrations"), .embedInCode("Dashboard")])
targets += service(
    "Transfer", [httpClient, nioCore, nioPosix, nioHTTP1, nioSSL, structuredFields, crypto],
    resources: [.embedInCode("Migrations")])
targets += [
    // Reads every document that a service accepts with every reader.
    tests(
        "DoorsTests", "Doors",
        durable + [
            "LifecycleCore", "FetchCore", "PushCore", "TransferCore", "LifecycleService", "FetchService",
            "PushService", "TransferService", "OpsService", "RandomScenarios", "TestSupport", httpClient,
            nioHTTP1,
        ]),
    // The stored form and the JSON of every record: those of events and states, then those of the services.
    tests(
        "GoldenTests", "Golden/Machine",
        pure + [
            "LifecycleCore", "FetchCore", "PushCore", "TransferCore", "MachineTesting", "Traces",
        ],
        resources: [.copy("Forms")]),
    tests(
        "ServiceGoldenTests", "Golden/Service",
        durable + [
            "LifecycleService", "FetchService", "PushService", "TransferService", "OpsService", "TestSupport",
        ],
        resources: [.copy("Forms")]),
    // The golden traces and the stored states of all machines.
    .target(
        name: "Traces",
        dependencies: pure + [
            "LifecycleCore", "FetchCore", "PushCore", "TransferCore", "RandomScenarios", "MachineTesting",
        ],
        path: "Tests/Traces", resources: ["Lifecycle", "Fetch", "Push", "Transfer"].map { .copy($0) },
        swiftSettings: strict),
    // Random lives of all machines, for their own tests, and as a process for tests that compare processes.
    .target(
        name: "RandomScenarios",
        dependencies: pure + ["LifecycleCore", "FetchCore", "PushCore", "TransferCore", "MachineTesting"],
        path: "Tests/RandomScenarios", exclude: ["Main"], swiftSettings: strict),
    .executableTarget(
        name: "playscenario", dependencies: ["RandomScenarios"], path: "Tests/RandomScenarios/Main",
        swiftSettings: strict),
    // Runs the executables of the whole suite, and folds the logged events with the machines.
    tests(
        "SuiteTests", "Suite",
        durable + [
            "LifecycleCore", "FetchCore", "PushCore", "TransferCore", "lifecycle", "fetch", "push",
            "transfer", "ops", "fleet", "RandomScenarios", "playscenario", "Attack", "TestSupport", httpClient, crypto,
            jwt, nioCore, nioPosix, nioHTTP1, nioSSL,
        ],
        resources: [.copy("Python")]),
]

/// The tests that need no database, no network and no other process.
let pureTests = [
    "FetchMachineTests", "GoldenTests", "LifecycleMachineTests", "MachineTestingTests", "MachinesTests",
    "PushMachineTests", "RecordGeneratorTests", "RecordsTests", "TransferMachineTests",
]

/// Returns the roots and the targets that they need.
func closure(of roots: [String], in targets: [Target]) -> [Target] {
    var names = roots
    var kept: Set<String> = []
    while let name = names.popLast() {
        guard let target = targets.first(where: { $0.name == name }), kept.insert(name).inserted else { continue }
        for case .byNameItem(let name, _) in target.dependencies { names.append(name) }
        for case .targetItem(let name, _) in target.dependencies { names.append(name) }
        for case .plugin(let name, _) in target.plugins ?? [] { names.append(name) }
    }
    return targets.filter { kept.contains($0.name) }
}

var products = ["lifecycle", "fetch", "push", "transfer", "ops", "fleet"]
if Context.environment["DORMOUSE_TESTS"] == "pure" {
    // The package has only these tests and the targets that they need. They build in a fraction of the time, but need
    // their own build folder (`--scratch-path`). `deploy/test --fast` does that.
    targets = closure(of: pureTests, in: targets)
    products = []
} else if Context.environment["DORMOUSE_BUILD"] == "suite" {
    // The package has only the products and the targets that they need, so that one `swift build` makes all products.
    // A call for each product compiles some dependencies again. `deploy/up` and the image use it.
    targets = closure(of: products, in: targets)
}

let package = Package(
    name: "dormouse",
    // The packages below name a macOS version. The suite itself needs Linux: it imports Glibc.
    platforms: [.macOS(.v15)],
    products: products.map { .executable(name: $0, targets: [$0]) },
    dependencies: [
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.0"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
    ],
    targets: targets
)
