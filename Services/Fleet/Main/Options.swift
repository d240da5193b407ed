import ArgumentParser
import FleetService
import Foundation
import Timeline

/// The addresses and credentials of the suite.
struct SuiteOptions: ParsableArguments {
    @Option(help: "The endpoints.json of ./deploy/up. The options below override it.")
    var endpoints: String?
    @Option(name: [.long, .customLong("target")], help: "The address of lifecycle.")
    var lifecycle: String?
    @Option(help: "The address of fetch.")
    var fetch: String?
    @Option(help: "The address of push.")
    var push: String?
    @Option(help: "The address of transfer.")
    var transfer: String?
    @Option(help: "The address of ops.")
    var ops: String?
    @Option(help: "The address of the provider endpoint of push.")
    var apns: String?
    @Option(help: "A PEM file with certificates to trust, in addition to the system's.")
    var ca: String?
    @Option(help: "A file with the operator key.")
    var operatorKeyFile: String?

    func read() throws -> Endpoints {
        var suite = try endpoints.map { try Endpoints(file: $0) } ?? Endpoints()
        let given: [(ServiceName, String?)] = [
            (.lifecycle, lifecycle), (.fetch, fetch), (.push, push), (.transfer, transfer),
        ]
        for case (let service, let text?) in given { try suite.set(service, text) }
        if let ops { suite.ops = try Endpoints.address(ops, "ops") }
        if let apns { suite.apns = try Endpoints.address(apns, "apns") }
        if let ca { suite.certificates = ca }
        if let operatorKeyFile { try suite.readOperatorKey(file: operatorKeyFile) }
        return suite
    }
}

/// The devices and the duration of a run.
struct CrowdOptions: ParsableArguments {
    @Option(help: "The number of devices; 10 by default.")
    var devices: Int?
    @Option(
        name: .customLong("for"), help: "The real time: 90s, 10m (the default), 24h. It ends a scenario early.",
        transform: duration)
    var time: Interval?
    @Option(help: "The seed; 1 by default. The same seed gives the same devices and users.")
    var seed: UInt64?
    @Option(help: "The name of the fleet; demo by default, and device for a scenario.")
    var fleet: String?
    @Option(help: "The maximum number of concurrent requests.")
    var concurrency = 32
    @Option(help: "Writes the summary as JSON to this file.")
    var summaryJson: String?

    var options: FleetOptions {
        var options = FleetOptions()
        options.devices = devices ?? options.devices
        options.duration = time ?? options.duration
        options.seed = seed ?? options.seed
        options.fleet = fleet ?? options.fleet
        options.concurrency = concurrency
        return options
    }

    private static func duration(_ text: String) throws -> Interval {
        guard let interval = FleetOptions.duration(text) else {
            throw ValidationError("--for must be a duration such as 90s, 10m or 24h, not \"\(text)\"")
        }
        return interval
    }
}

struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Simulates devices: registers them, opens their apps, follows every order.",
        discussion: "With --scenario, the exit status is 0 if all expectations are met, 1 if not, and 2 for a bad file."
    )

    @OptionGroup var suite: SuiteOptions
    @OptionGroup var pool: CrowdOptions
    @OptionGroup var play: ScenarioPlayOptions
    @Option(help: "The speed of the users: 60 lets an hour pass in a minute.")
    var rate = 1.0
    @Option(
        help: "The local time of the users at the start, such as 07:30. The default is the real time.",
        transform: timeOfDay)
    var beginAt: Int?
    @Option(help: "Pushes per minute from a provider in this process.")
    var pushesPerMinute = 0.0
    @Option(help: "The number of devices with a connection to push.")
    var pushConnections = 200
    @Option(help: "The size of a download, in bytes.")
    var downloadBytes = 262_144

    func run() async throws {
        if let file = play.scenario { return try await play.play(file, pool, try suite.read()) }
        var options = pool.options
        options.rate = rate
        options.beginsAt = beginAt
        options.pushesAMinute = pushesPerMinute
        options.pushConnections = pushConnections
        options.downloadBytes = downloadBytes
        let run = try FleetRun(options, try suite.read(), now: RealClock().now, run: UUID().uuidString)
        try await Terminal.show(run, summary: pool.summaryJson)
    }

    private static func timeOfDay(_ text: String) throws -> Int {
        guard let minutes = FleetOptions.timeOfDay(text) else {
            throw ValidationError("--begin-at must be a time of the day such as 07:30, not \"\(text)\"")
        }
        return minutes
    }
}

struct Push: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sends pushes as a provider to the devices that a `fleet run` has registered.")

    @OptionGroup var suite: SuiteOptions
    @OptionGroup var pool: CrowdOptions
    @Option(help: "Pushes per second.")
    var rate = 1.0

    func run() async throws {
        var options = pool.options
        options.pushesAMinute = rate * 60
        let run = try PushRun(options, try suite.read(), now: RealClock().now, run: UUID().uuidString)
        try await Terminal.show(run, summary: pool.summaryJson)
    }
}
