// swift-tools-version: 6.2
import PackageDescription

/// The packages of others, their lowest versions, and their modules that targets of this package import.
let outside: [(path: String, version: Version, modules: [String])] = [
    ("hummingbird-project/hummingbird", "2.28.0", ["Hummingbird", "HummingbirdCore"]),
    ("hummingbird-project/swift-mustache", "2.0.0", ["Mustache"]),
    ("swift-server/swift-service-lifecycle", "2.13.0", ["ServiceLifecycle", "UnixSignals"]),
    ("swift-server/async-http-client", "1.37.0", ["AsyncHTTPClient"]),
    ("vapor/jwt-kit", "5.7.0", ["JWTKit"]),
    ("apple/swift-argument-parser", "1.8.0", ["ArgumentParser"]),
    ("apple/swift-async-algorithms", "1.1.0", ["AsyncAlgorithms"]),
    ("apple/swift-collections", "1.6.0", ["Collections"]),
    ("apple/swift-crypto", "4.5.0", ["Crypto"]),
    ("apple/swift-http-structured-headers", "1.7.0", ["RawStructuredFieldValues"]),
    ("apple/swift-http-types", "1.8.0", ["HTTPTypes"]),
    ("apple/swift-log", "1.16.0", ["Logging"]),
    ("apple/swift-nio", "2.101.0", ["NIOCore", "NIOPosix", "NIOHTTP1", "NIOTLS", "NIOEmbedded"]),
    ("apple/swift-asn1", "1.7.0", ["SwiftASN1"]),
    ("apple/swift-certificates", "1.21.0", ["X509"]),
    ("apple/swift-nio-http2", "1.46.0", ["NIOHTTP2", "NIOHPACK"]),
    ("apple/swift-nio-ssl", "2.37.0", ["NIOSSL"]),
    ("jpsim/Yams", "6.2.2", ["Yams"]),
]

/// Returns the dependency on a module of this package or of another one.
func dependency(_ module: String) -> Target.Dependency {
    guard let package = outside.first(where: { $0.modules.contains(module) }) else { return .byName(name: module) }
    return .product(name: module, package: package.path.split(separator: "/").last.map(String.init) ?? package.path)
}

// All targets have the same strict rules.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
    // The compiler specializes generic code, such as the runtime, for the types of the modules that use it. A command
    // in the whole suite then needs a third less processor time with 8 connections, and a sixth less with 512.
    .unsafeFlags(["-cross-module-optimization"], .when(configuration: .release)),
]

/// As in a release build, but `@testable import` works.
let optimized: [SwiftSetting] = [
    .unsafeFlags(["-O", "-wmo", "-num-threads", "2"], .when(configuration: .debug))
]
/// The modules where tests spend much CPU time. They are optimized in debug builds too.
let hot: Set = [
    "Records", "Timeline", "Contracts", "Machines", "Telemetry", "Postgres", "EventLog", "Runtime", "HTTPKit",
    "LifecycleCore", "FetchCore", "PushCore", "TransferCore", "Simulation", "TestSupport", "PartitionMachineTests",
]

/// A library. `records` says whether it declares records, whose code the plugin generates.
func library(
    _ name: String, _ path: String, _ modules: [String], exclude: [String] = [], resources: [Resource]? = nil,
    records: Bool = false
) -> Target {
    .target(
        name: name, dependencies: modules.map(dependency), path: path, exclude: exclude, resources: resources,
        swiftSettings: strict + (hot.contains(name) ? optimized : []), plugins: records ? ["GenerateRecords"] : nil)
}

func executable(_ name: String, _ path: String, _ modules: [String]) -> Target {
    .executableTarget(name: name, dependencies: modules.map(dependency), path: path, swiftSettings: strict)
}

func tests(_ name: String, _ path: String, _ modules: [String], resources: [Resource]? = nil) -> Target {
    .testTarget(
        name: name, dependencies: modules.map(dependency), path: "Tests/\(path)", resources: resources,
        swiftSettings: strict + (hot.contains(name) ? optimized : []), plugins: ["GenerateRecords"])
}

func shared(_ name: String, _ modules: [String], resources: [Resource]? = nil, records: Bool = false) -> Target {
    library(name, "Shared/\(name)", modules, resources: resources, records: records)
}

/// The routes and wiring of a service, and its executable. No service depends on another.
func service(_ name: String, _ modules: [String], resources: [Resource]? = nil) -> [Target] {
    [
        library("\(name)Service", "Services/\(name)/Service", durable + modules, resources: resources, records: true),
        executable(name.lowercased(), "Services/\(name)/Main", ["\(name)Service", "ServiceKit"]),
    ]
}

/// The pure machine of a service, and its tests.
func machine(_ name: String) -> [Target] {
    [
        library("\(name)Core", "Services/\(name)/Machine", pure, records: true),
        tests(
            "\(name)MachineTests", "Services/\(name)/Machine",
            pure + ["RandomScenarios", "MachineTesting", "Traces", "\(name)Core"]),
    ]
}

/// The modules for JSON, time and the documents of the suite.
let documents = ["Records", "Timeline", "Contracts"]
/// The shared modules that do not use the database.
let pure = documents + ["Machines", "Collections"]
let database = ["Postgres", "EventLog", "Runtime"]
let kit = ["Telemetry", "Identity", "HTTPKit", "ServiceKit", "Hummingbird", "HTTPTypes", "Logging", "ServiceLifecycle"]
/// The modules of every service.
let durable = pure + database + kit
/// The modules that tests need as a client of a service.
let client = ["TestSupport", "AsyncHTTPClient", "NIOCore", "NIOHTTP1"]
let scenario = ["Scenarios", "ScenarioFiles", "Reports"]
let machines = ["LifecycleCore", "FetchCore", "PushCore", "TransferCore"]
let services = ["LifecycleService", "FetchService", "PushService", "TransferService", "OpsService"]

// The shared modules.
var targets: [Target] = [
    .systemLibrary(name: "CLibpq", path: "Shared/CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(name: "CMalloc", path: "Shared/CMalloc"),
    library("RecordGeneration", "Shared/RecordGenerator", [], exclude: ["Main"]),
    executable("RecordGenerator", "Shared/RecordGenerator/Main", ["RecordGeneration"]),
    .plugin(
        name: "GenerateRecords", capability: .buildTool(), dependencies: ["RecordGenerator"],
        path: "Shared/GenerateRecords"),
    shared("CommandLines", ["ArgumentParser"]),
    shared("Records", ["Collections"]),
    shared("Timeline", ["Records"]),
    shared("Contracts", ["Records", "Timeline", "Collections", "Crypto"], records: true),
    shared("Machines", ["Records", "Timeline", "Contracts", "Collections"]),
    shared("Scenarios", documents, records: true),
    shared("ScenarioFiles", ["Scenarios", "Yams"]),
    shared(
        "Reports", documents + ["Collections", "Mustache"], resources: [.embedInCode("Templates")],
        records: true),
    shared("Telemetry", ["Records", "Timeline", "Logging"]),
    shared("Postgres", ["CLibpq", "Telemetry", "Logging", "Collections", "Crypto"]),
    shared(
        "EventLog", ["Records", "Timeline", "Contracts", "Postgres", "Telemetry", "ServiceLifecycle", "Logging"],
        resources: [.embedInCode("Migrations")]),
    shared(
        "Runtime", pure + ["Postgres", "EventLog", "Telemetry", "ServiceLifecycle", "Logging"],
        resources: [.embedInCode("Migrations")]),
    shared(
        "Identity",
        ["Records", "Timeline", "Contracts", "Postgres", "EventLog", "Logging", "ServiceLifecycle", "JWTKit", "Crypto"]),
    shared(
        "HTTPKit",
        database + [
            "Records", "Timeline", "Contracts", "Telemetry", "Identity", "Hummingbird", "HummingbirdCore", "HTTPTypes",
            "Logging", "ServiceLifecycle", "Crypto", "Collections", "AsyncAlgorithms", "NIOCore", "NIOHTTP1", "NIOSSL",
        ]),
    shared(
        "ServiceKit",
        database + [
            "CMalloc", "Records", "Timeline", "Contracts", "Machines", "Telemetry", "Identity", "HTTPKit",
            "Hummingbird", "HummingbirdCore", "HTTPTypes", "Logging", "ServiceLifecycle", "UnixSignals", "CommandLines",
            "ArgumentParser", "AsyncHTTPClient", "NIOCore", "NIOHTTP1", "NIOPosix", "NIOSSL",
        ], records: true),
]

// The services.
targets += ["Lifecycle", "Fetch", "Push", "Transfer"].flatMap(machine)
targets += service("Lifecycle", ["LifecycleCore", "AsyncAlgorithms"])
targets += service("Fetch", ["FetchCore"])
targets += service(
    "Push",
    [
        "PushCore", "ArgumentParser", "Crypto", "NIOCore", "NIOPosix", "NIOHTTP2", "NIOHPACK", "NIOSSL", "NIOTLS",
        "X509", "SwiftASN1",
    ],
    resources: [.embedInCode("Migrations")])
targets += service(
    "Transfer",
    [
        "TransferCore", "AsyncHTTPClient", "NIOCore", "NIOPosix", "NIOHTTP1", "NIOSSL", "RawStructuredFieldValues",
        "Crypto",
    ],
    resources: [.embedInCode("Migrations")])
// `ops` has no machine. It reads the states of all machines and folds their events.
targets += service(
    "Ops", machines + ["Reports", "Crypto", "AsyncHTTPClient", "NIOCore", "NIOHTTP1", "NIOSSL", "UnixSignals"],
    resources: [.embedInCode("Migrations"), .embedInCode("Dashboard")])
// The simulator uses the suite only through HTTP. It shares only the modules for JSON, time, generations and scenarios.
targets += [
    library(
        "FleetService", "Services/Fleet/Service",
        documents + ["Scenarios", "AsyncHTTPClient", "JWTKit", "Collections", "NIOCore", "NIOHTTP1", "NIOSSL"]),
    // The machines of many devices in one process and in virtual time.
    library(
        "Simulation", "Services/Fleet/Simulation", pure + machines + ["Scenarios", "Reports", "Crypto"], records: true),
    executable(
        "fleet", "Services/Fleet/Main",
        scenario + documents + ["FleetService", "Simulation", "CommandLines", "ArgumentParser", "UnixSignals"]),
    executable("habits", "deploy/examples/habits", pure + ["FetchCore", "CommandLines", "ArgumentParser"]),
]

// Modules that tests and benchmarks share.
targets += [
    // Seeds, traces, stored states and small machines: all that pure tests share.
    library("MachineTesting", "Tests/MachineTesting", pure, records: true),
    // Random lives of all machines, for their own tests, and as a process for tests that compare processes.
    library("RandomScenarios", "Tests/RandomScenarios", pure + machines + ["MachineTesting"], exclude: ["Main"]),
    executable("playscenario", "Tests/RandomScenarios/Main", ["RandomScenarios"]),
    // The golden traces and the stored states of all machines.
    library(
        "Traces", "Tests/Traces", pure + machines + ["RandomScenarios", "MachineTesting"],
        resources: [.copy("Lifecycle"), .copy("Fetch"), .copy("Push"), .copy("Transfer")]),
    library(
        "TestSupport", "Tests/Support",
        pure + database + [
            "MachineTesting", "AsyncHTTPClient", "NIOCore", "NIOHTTP1", "NIOPosix", "NIOSSL", "Logging",
            "ServiceLifecycle",
        ],
        exclude: ["CounterService", "CounterProgram"], records: true),
    executable(
        "CounterService", "Tests/Support/CounterService",
        database + ["Timeline", "Contracts", "Machines", "TestSupport", "Logging", "ServiceLifecycle", "UnixSignals"]),
    executable("counter", "Tests/Support/CounterProgram", pure + ["EventLog", "Runtime", "MachineTesting"] + kit),
    // Attacks the whole suite as processes and judges the result. It sees the suite through HTTP and the log.
    library(
        "Attack", "Tests/Attack",
        client + [
            "Records", "Contracts", "Postgres", "EventLog", "Crypto", "NIOPosix", "NIOSSL", "NIOHTTP2", "NIOHPACK",
            "Logging",
        ],
        exclude: ["README.md"]),
    executable(
        "benchmarks", "Tests/Benchmarks",
        pure + database + client + [
            "RandomScenarios", "Attack", "FetchCore", "ArgumentParser", "Crypto", "Logging", "ServiceLifecycle",
            "UnixSignals",
        ]),
]

// The tests, except those that `machine` adds.
targets += [
    tests("SupportTests", "Shared/Support", ["Records", "TestSupport", "NIOCore", "NIOPosix"]),
    tests("AttackTests", "Shared/Attack", ["Attack", "TestSupport", "NIOCore", "NIOHTTP1", "NIOEmbedded"]),
    tests("RecordsTests", "Shared/Records", ["Records", "MachineTesting", "Collections"]),
    tests("RecordGeneratorTests", "Shared/RecordGenerator", ["RecordGeneration"]),
    tests("ScenariosTests", "Shared/Scenarios", documents + ["Scenarios"]),
    tests("ScenarioFilesTests", "Shared/ScenarioFiles", documents + ["Scenarios", "ScenarioFiles"]),
    tests("MachinesTests", "Shared/Machines", pure + ["MachineTesting"]),
    tests("MachineTestingTests", "Shared/MachineTesting", ["Records", "MachineTesting"]),
    tests("PostgresTests", "Shared/Postgres", ["Postgres", "TestSupport", "Logging", "NIOCore", "NIOPosix", "NIOSSL"]),
    tests("PartitionMachineTests", "Shared/PartitionMachine", pure + database + ["TestSupport"]),
    tests(
        "RuntimeTests", "Shared/Runtime",
        pure + database + ["TestSupport", "CounterService", "Logging", "ServiceLifecycle"]),
    tests("EventLogTests", "Shared/EventLog", pure + database + ["TestSupport", "Logging"]),
    tests("EventLogOpsTests", "Shared/EventLogOps", pure + database + ["TestSupport", "Logging", "ServiceLifecycle"]),
    tests("ServiceKitTests", "Shared/ServiceKit", durable + client + ["counter", "NIOPosix", "NIOSSL", "NIOEmbedded"]),
    tests(
        "LifecycleServiceTests", "Services/Lifecycle/Service",
        durable + client + ["LifecycleCore", "LifecycleService", "lifecycle", "Traces"]),
    tests(
        "FetchServiceTests", "Services/Fetch/Service",
        durable + client + ["FetchCore", "FetchService", "fetch", "habits", "ArgumentParser"]),
    tests(
        "PushServiceTests", "Services/Push/Service",
        durable + client + [
            "PushCore", "PushService", "push", "Crypto", "JWTKit", "NIOPosix", "NIOHTTP2", "NIOHPACK", "NIOSSL", "X509",
            "SwiftASN1",
        ], resources: [.copy("Python")]),
    tests(
        "TransferServiceTests", "Services/Transfer/Service",
        durable + client + [
            "TransferCore", "TransferService", "NIOPosix", "NIOSSL", "NIOEmbedded", "X509", "SwiftASN1", "Crypto",
        ], resources: [.copy("Conformance")]),
    tests(
        "OpsServiceTests", "Services/Ops/Service",
        durable + client + [
            "LifecycleCore", "OpsService", "RandomScenarios", "MachineTesting", "NIOPosix", "NIOSSL", "Scenarios",
            "Simulation", "Reports",
        ]),
    tests(
        "FleetServiceTests", "Services/Fleet/Service",
        documents + ["FleetService", "Scenarios", "TestSupport", "Crypto", "NIOCore", "NIOHTTP1"]),
    tests("SimulationTests", "Services/Fleet/Simulation", pure + machines + scenario + ["Simulation"]),
    // Reads every document that a service accepts with every reader.
    tests("DoorsTests", "Doors", durable + machines + services + client + ["RandomScenarios"]),
    // The stored form and the JSON of every record: those of events and states, then those of the services.
    tests(
        "GoldenTests", "Golden/Machine", pure + machines + ["MachineTesting", "Traces"], resources: [.copy("Forms")]),
    tests("ServiceGoldenTests", "Golden/Service", durable + services + ["TestSupport"], resources: [.copy("Forms")]),
    // Runs the executables of the whole suite, and folds the logged events with the machines.
    tests(
        "SuiteTests", "Suite",
        durable + machines + client + [
            "lifecycle", "fetch", "push", "transfer", "ops", "fleet", "RandomScenarios", "playscenario", "Attack",
            "Crypto", "NIOPosix", "NIOSSL", "Simulation", "Scenarios",
        ], resources: [.copy("Python")]),
]

/// The tests that need no database, no network and no other process.
let pureTests = [
    "FetchMachineTests", "GoldenTests", "LifecycleMachineTests", "MachineTestingTests", "MachinesTests",
    "PushMachineTests", "RecordGeneratorTests", "RecordsTests", "ScenarioFilesTests", "ScenariosTests",
    "SimulationTests", "TransferMachineTests",
]

/// Returns the roots and the targets that they need.
func closure(of roots: [String], in targets: [Target]) -> [Target] {
    var names = roots
    var kept: Set<String> = []
    while let name = names.popLast() {
        guard let target = targets.first(where: { $0.name == name }), kept.insert(name).inserted else { continue }
        for case .byNameItem(let name, _) in target.dependencies { names.append(name) }
        for case .plugin(let name, _) in target.plugins ?? [] { names.append(name) }
    }
    return targets.filter { kept.contains($0.name) }
}

var products = ["lifecycle", "fetch", "push", "transfer", "ops", "fleet"]
if Context.environment["DORMOUSE_TESTS"] == "pure" {
    // Only these tests and the targets that they need. They need their own build folder: see `deploy/test --fast`.
    targets = closure(of: pureTests, in: targets)
    products = []
} else if Context.environment["DORMOUSE_BUILD"] == "suite" {
    // Only the products and the targets that they need, so that one `swift build` makes them all.
    targets = closure(of: products, in: targets)
}

let package = Package(
    name: "dormouse",
    // The packages above name a macOS version. The suite itself needs Linux: it imports Glibc.
    platforms: [.macOS(.v15)],
    products: products.map { .executable(name: $0, targets: [$0]) },
    dependencies: outside.map { .package(url: "https://github.com/\($0.path)", from: $0.version) },
    targets: targets
)
