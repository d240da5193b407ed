import ArgumentParser
import FleetService
import Foundation
import Timeline

/// Where the suite is.
struct SuiteOptions: ParsableArguments {
    @Option(help: "The endpoints.json that ./deploy/up writes; the options below win over it.")
    var endpoints: String?
    @Option(name: [.long, .customLong("target")], help: "The address of lifecycle.")
    var lifecycle: String?
    @Option(help: "The address of fetch.")
    var fetch: String?
    @Option(help: "The address of push.")
    var push: String?
    @Option(help: "The address of transfer.")
    var transfer: String?
    @Option(help: "The address to which providers send.")
    var apns: String?
    @Option(help: "A PEM file with the certificates to trust beside the system's.")
    var ca: String?
    @Option(help: "A file with the operator's key.")
    var operatorKeyFile: String?

    func read() throws -> Endpoints {
        var suite = try endpoints.map { try Endpoints(file: $0) } ?? Endpoints()
        let given: [(ServiceName, String?)] = [
            (.lifecycle, lifecycle), (.fetch, fetch), (.push, push), (.transfer, transfer),
        ]
        for case (let service, let text?) in given { try suite.set(service, text) }
        if let apns { suite.apns = try Endpoints.address(apns, "apns") }
        if let ca { suite.certificates = ca }
        if let operatorKeyFile { try suite.readOperatorKey(file: operatorKeyFile) }
        return suite
    }
}

/// Which devices, and for how long.
struct CrowdOptions: ParsableArguments {
    @Option(help: "How many devices.")
    var devices = 10
    @Option(name: .customLong("for"), help: "How long: 90s, 10m, 24h.", transform: duration)
    var time = Interval.minutes(10)
    @Option(help: "The same seed makes the same people.")
    var seed: UInt64 = 1
    @Option(help: "The name of the fleet.")
    var fleet = "demo"
    @Option(help: "Calls under way at once.")
    var concurrency = 32
    @Option(help: "Writes the summary as JSON to this file.")
    var summaryJson: String?

    var options: FleetOptions {
        var options = FleetOptions()
        options.devices = devices
        options.duration = time
        options.seed = seed
        options.fleet = fleet
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
        abstract: "Lets devices live: registers them, opens their apps, obeys every order.")

    @OptionGroup var suite: SuiteOptions
    @OptionGroup var crowd: CrowdOptions
    @Option(help: "How many times faster people live.")
    var rate = 1.0
    @Option(help: "The people's local time at the beginning, as 07:30; otherwise the real one.", transform: timeOfDay)
    var beginAt: Int?
    @Option(help: "Pushes that a provider in this process sends, a minute.")
    var pushesPerMinute = 0.0
    @Option(help: "How many devices hold a connection to push.")
    var pushConnections = 200
    @Option(help: "How large a download is, in bytes.")
    var downloadBytes = 262_144

    func run() async throws {
        var options = crowd.options
        options.rate = rate
        options.beginsAt = beginAt
        options.pushesAMinute = pushesPerMinute
        options.pushConnections = pushConnections
        options.downloadBytes = downloadBytes
        let run = try FleetRun(options, try suite.read(), now: RealClock().now, run: UUID().uuidString)
        try await Terminal.show(run, summary: crowd.summaryJson)
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
        abstract: "A provider that sends pushes to the devices of a fleet, as another fleet run has registered them.")

    @OptionGroup var suite: SuiteOptions
    @OptionGroup var crowd: CrowdOptions
    @Option(help: "Pushes a second.")
    var rate = 1.0

    func run() async throws {
        var options = crowd.options
        options.pushesAMinute = rate * 60
        let run = try PushRun(options, try suite.read(), now: RealClock().now, run: UUID().uuidString)
        try await Terminal.show(run, summary: crowd.summaryJson)
    }
}
