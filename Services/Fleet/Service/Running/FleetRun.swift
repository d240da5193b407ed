import Contracts
import Records
import Scenarios
public import Timeline

/// A run of a fleet.
public struct FleetRun: Activity {
    public let options: FleetOptions
    public let statistics = RunStatistics()
    private let client: SuiteClient
    private let pool: DevicePool
    private let devices: [SimulatedDevice]
    private let clock: RunClock
    private let run: String
    private let tokens = PushTokens()

    /// - Parameter run: a prefix that makes the idempotency keys of this run unique.
    /// - Throws: ``FleetError`` for invalid options or missing addresses.
    public init(_ options: FleetOptions, _ endpoints: Endpoints, now: Instant, run: String) throws(FleetError) {
        try options.validate()
        guard endpoints.services[.lifecycle] != nil else {
            throw FleetError("the address of lifecycle is missing: give --lifecycle or --endpoints")
        }
        if options.pushesAMinute > 0, endpoints.apns == nil || endpoints.services[.push] == nil {
            throw FleetError("pushes need the addresses of push and apns: give --push and --apns, or --endpoints")
        }
        self.options = options
        self.run = run
        clock = RunClock(begin: now)
        client = try SuiteClient(
            endpoints, connections: options.concurrency, streams: options.pushConnections + 2)
        let services = Set(endpoints.services.keys)
        devices = (0..<options.devices).map { index in
            var pace = Pace(begin: now, peopleBegin: now, rate: options.rate)
            var device = SimulatedDevice(
                index: index, fleet: options.fleet, seed: options.seed, pace: pace, services: services)
            if let minute = options.beginsAt {
                let missing = Int64(minute - device.person.minute(of: now))
                pace.peopleBegin = now + .minutes(missing)
                device = SimulatedDevice(
                    index: index, fleet: options.fleet, seed: options.seed, pace: pace, services: services)
            }
            return device
        }
        pool = DevicePool(
            devices, tokens: tokens, clock: clock, statistics: statistics, run: run, seed: options.seed)
    }

    private var caller: Caller { Caller(client: client, statistics: statistics, seed: options.seed) }
    private var setup: Setup { Setup(caller: caller, fleet: options.fleet, run: run) }

    /// The real time since the start.
    public var elapsed: Interval { clock.elapsed }

    /// Returns the number of apps in each simulated state.
    public func states() async -> [String: Int] { await pool.states() }

    /// Runs for the duration of the options, or until `stop` returns. Then it checks for lost data.
    public func live(until stop: @escaping @Sendable () async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await stop() }
            group.addTask {
                // `stop` cancels the sleep.
                try? await Task.sleep(for: .milliseconds(options.duration.milliseconds))
            }
            group.addTask { await self.work() }
            await group.next()
            await drain()
            group.cancelAll()
        }
        await verify()
        await client.close()
    }

    /// Runs all loops until cancellation.
    private func work() async {
        do {
            try await setup.enter()
            let content = try await setup.placeContent(bytes: options.downloadBytes)
            try await withThrowingTaskGroup(of: Void.self) { group in
                let streams = Streams(client: client, pool: pool, statistics: statistics)
                var transfer = TransferAddresses()
                transfer.credential = client.credential
                transfer.download = content ?? ""
                transfer.uploads = (client.endpoints.services[.transfer] ?? "") + "/uploads"
                let worker = Worker(pool: pool, client: client, statistics: statistics, transfer: transfer)
                group.addTask { try await beat() }
                group.addTask { try await streams.followOrders(of: options.fleet) }
                for _ in 0..<options.concurrency { group.addTask { try await worker.run() } }
                group.addTask { try await register(streams) }
                if options.pushesAMinute > 0 { group.addTask { try await providePushes() } }
                try await group.waitForAll()
            }
        } catch is CancellationError {
        } catch {
            statistics.complain(String(describing: error))
        }
    }

    /// Stops new work, and waits for requests in progress and missing callbacks: until no order has come for 5 s, and
    /// for a minute at most.
    private func drain() async {
        await pool.pause()
        let end = ContinuousClock.now + .seconds(60)
        var heard = (orders: statistics.counts.orderCount, at: ContinuousClock.now)
        while await !pool.isQuiet(), ContinuousClock.now < min(end, heard.at + .seconds(5)) {
            guard (try? await Task.sleep(for: .milliseconds(20))) != nil else { return }
            let orders = statistics.counts.orderCount
            if orders != heard.orders { heard = (orders, .now) }
        }
    }

    private func beat() async throws {
        do {
            while true {
                await pool.tick()
                try await Task.sleep(for: .milliseconds(20))
            }
        } catch {
            // Workers that wait for a request ignore cancellation; closing the device pool ends them.
            await pool.close()
            throw error
        }
    }

    /// Registers the devices in batches, and starts each one.
    private func register(_ streams: Streams) async throws {
        let hasPush = client.endpoints.services[.push] != nil
        try await withThrowingTaskGroup(of: Void.self) { connections in
            for start in stride(from: 0, to: devices.count, by: Setup.batch) {
                let batch = devices[start..<min(start + Setup.batch, devices.count)]
                for (index, position) in try await setup.register(batch) {
                    await pool.registered(index, at: position)
                    await pool.begin(index)
                    statistics.note { $0.devices += 1 }
                    guard hasPush, index < options.pushConnections, devices[index].has(.silentNotifications) else {
                        continue
                    }
                    connections.addTask {
                        try await streams.followNotifications(of: devices[index].identifier, index)
                    }
                }
            }
            try await connections.waitForAll()
        }
    }

    private func providePushes() async throws {
        var random = SeededRandom(seed: .random(in: .min ... .max))
        let provider = Provider(caller: caller, tokens: tokens, &random)
        guard try await provider.register(key: "\(run)-provider"), let apns = client.endpoints.apns else { return }
        try await provider.send(aMinute: options.pushesAMinute, to: apns, seed: options.seed)
    }

    /// Checks for lost data: the state of each device must be at least as new as in its last response.
    private func verify() async {
        if await pool.hearsOrders {
            let missing = await pool.missingCallbacks()
            if missing > 0 {
                statistics.note { $0.lostOrders += missing }
                statistics.complain("\(missing) callbacks of responses never came on the order stream")
            }
        }
        for (device, acknowledged) in await pool.acknowledged() {
            let call = Call(.lifecycle, "GET", "/v1/devices/{device}", [device])
            guard case .answered(200, let document, _, let etag)? = try? await client.attempt(call),
                let version = etag ?? document["version"]?.int
            else { continue }
            if version < acknowledged {
                statistics.note { $0.lostOrders += 1 }
                statistics.complain("\(device) has version \(version) after version \(acknowledged) was acknowledged")
            }
        }
    }
}
