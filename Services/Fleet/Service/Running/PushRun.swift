import Contracts
import Scenarios
public import Timeline

/// A provider that sends to the devices of a fleet in another process. The same seed gives the same devices.
public struct PushRun: Activity {
    public let options: FleetOptions
    public let statistics = RunStatistics()
    private let client: SuiteClient
    private let devices: [SimulatedDevice]
    private let clock: RunClock
    private let run: String

    /// - Throws: ``FleetError`` for invalid options or missing addresses.
    public init(_ options: FleetOptions, _ endpoints: Endpoints, now: Instant, run: String) throws(FleetError) {
        try options.validate()
        guard options.pushesAMinute > 0 else { throw FleetError("--rate must be more than 0 pushes per second") }
        guard endpoints.services[.push] != nil, endpoints.apns != nil else {
            throw FleetError("the addresses of push and apns are missing: give --push and --apns, or --endpoints")
        }
        self.options = options
        self.run = run
        clock = RunClock(begin: now)
        client = try SuiteClient(endpoints, connections: options.concurrency, streams: 1)
        let pace = Pace(begin: now, peopleBegin: now, rate: 1)
        devices = (0..<options.devices).map {
            SimulatedDevice(index: $0, fleet: options.fleet, seed: options.seed, pace: pace, services: [])
        }
    }

    public var elapsed: Interval { clock.elapsed }

    public func states() async -> [String: Int] { [:] }

    public func live(until stop: @escaping @Sendable () async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await stop() }
            group.addTask {
                // `stop` cancels the sleep.
                try? await Task.sleep(for: .milliseconds(options.duration.milliseconds))
            }
            group.addTask {
                do { try await send() } catch is CancellationError {
                } catch { statistics.complain(String(describing: error)) }
            }
            await group.next()
            group.cancelAll()
        }
        await client.close()
    }

    private func send() async throws {
        let caller = Caller(client: client, statistics: statistics, seed: options.seed)
        let tokens = PushTokens()
        let setup = Setup(caller: caller, fleet: options.fleet, run: run)
        var random = SeededRandom(seed: .random(in: .min ... .max))
        let provider = Provider(caller: caller, tokens: tokens, &random)
        guard try await provider.register(key: "\(run)-provider"), let apns = client.endpoints.apns else { return }
        try await withThrowingTaskGroup { group in
            group.addTask { try await find(tokens, setup) }
            group.addTask { try await provider.send(aMinute: options.pushesAMinute, to: apns, seed: options.seed) }
            try await group.waitForAll()
        }
    }

    /// Reads the tokens of the devices, again and again until every app has registered.
    ///
    /// - Throws: ``FleetError`` if no app has registered within a minute, or `CancellationError`.
    private func find(_ tokens: PushTokens, _ setup: Setup) async throws {
        var unknown = devices.filter { $0.has(.silentNotifications) }.flatMap { device in
            device.apps.filter(\.model.takesPushes).map { (device: device, app: $0.model) }
        }
        statistics.note { $0.devices += Set(unknown.map(\.device.identifier)).count }
        let end = ContinuousClock.now + .seconds(60)
        while !unknown.isEmpty {
            for (index, (device, app)) in unknown.enumerated().reversed() {
                guard let token = try await setup.pushToken(device, app) else { continue }
                tokens.add(token)
                unknown.remove(at: index)
            }
            guard tokens.count > 0 || .now < end else {
                throw FleetError(
                    "no app of fleet \(options.fleet) has registered for notifications: run the fleet first")
            }
            try await Task.sleep(for: .seconds(5))
        }
    }
}
