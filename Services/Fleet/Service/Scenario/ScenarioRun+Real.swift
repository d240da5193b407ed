import Contracts
import Records
import Scenarios
import Timeline

// The run in real time.
extension ScenarioRun {
    /// The time between two looks at the devices.
    private static let beat = Duration.milliseconds(20)

    func runReal(_ world: ScenarioWorld, ops: String) async throws -> Instant {
        let begin = max(world.plan.begin, RealClock().now)
        let clock = RunClock(begin: begin)
        let devices = (0..<world.plan.scenario.devices.count).map { ScenarioDevice($0, world) }
        let feed = SuiteOperations(client, address: ops, names: Set(devices.map(\.name)), since: RealClock().now)
        let receiver = OrderReceiver(devices)
        let started = ContinuousClock.now
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await OrderStream(client: self.client, statistics: self.statistics).follow(
                    self.options.fleet, receiver)
            }
            try await eachOf(devices) { device in
                await device.skip(to: begin)
                guard try await device.begin() else {
                    throw FleetError("the suite refuses the device \(device.name) or one of its apps")
                }
                await receiver.ready(device)
            }
            let limit = options.limit.map { begin + $0 - world.plan.begin }
            note {
                $0.begin = world.plan.begin
                if let limit { $0.duration = min($0.duration, limit) }
            }
            for kill in world.plan.kills where kill.at >= begin {
                group.addTask { try await self.perform(kill, clock) }
            }
            var nextPage = ContinuousClock.now
            while clock.now < world.plan.end, !isOver(since: started) {
                for device in await receiver.due(at: clock.now) {
                    group.addTask {
                        _ = try await device.step(at: clock.now)
                        await receiver.ready(device)
                    }
                }
                if nextPage <= .now {
                    recorder.took(try await feed.events())
                    nextPage = .now + .seconds(1)
                }
                let done = clock.now - world.plan.begin
                note { $0.done = done }
                try? await Task.sleep(for: Self.beat)
            }
            let end = min(clock.now, world.plan.end)
            group.cancelAll()
            // Reads the last events, also after an interruption.
            let recorder = recorder
            await Task { if let events = try? await feed.events() { recorder.took(events) } }.value
            return end
        }
    }
}

extension ScenarioRun {
    /// Kills a service, and starts it after the time of the fault.
    private func perform(_ kill: PlannedKill, _ clock: RunClock) async throws {
        do {
            try await Task.sleep(for: .milliseconds(max(kill.at - clock.now, .zero).milliseconds))
            try await serviceFaults?.begin(kill.service)
            try await Task.sleep(for: .milliseconds(max(kill.until - clock.now, .zero).milliseconds))
            try await serviceFaults?.end(kill.service)
        } catch is CancellationError {}
    }
}

/// The kill of a service.
struct PlannedKill {
    let at: Instant
    let until: Instant
    let service: ScenarioService
}

extension ScenarioPlan {
    /// The kills of services, in the order of their time.
    var kills: [PlannedKill] {
        faults.compactMap { fault in
            guard case .kill(let service) = fault.kind else { return nil }
            return PlannedKill(at: fault.at, until: fault.until, service: service)
        }
    }
}

/// The devices of a run in real time, by name.
actor OrderReceiver {
    private let devices: [String: ScenarioDevice]
    /// The devices that wait for their next step.
    private var idle: Set<String> = []

    init(_ devices: [ScenarioDevice]) {
        self.devices = Dictionary(uniqueKeysWithValues: devices.map { ($0.name, $0) })
    }

    func deliver(_ order: Order) async { _ = await devices[order.device]?.obey(order) }

    /// The device has begun, or has ended a step.
    func ready(_ device: ScenarioDevice) { idle.insert(device.name) }

    /// Returns the devices that are due, which are busy until ``ready(_:)``.
    func due(at now: Instant) async -> [ScenarioDevice] {
        var due: [ScenarioDevice] = []
        for name in idle {
            guard let device = devices[name], let next = await device.nextStep, next <= now else { continue }
            due.append(device)
        }
        for device in due { idle.remove(device.name) }
        return due
    }
}

/// The stream of the orders of a fleet.
struct OrderStream: Sendable {
    let client: SuiteClient
    let statistics: RunStatistics

    /// Follows the orders until cancellation, and resumes with `Last-Event-ID`.
    func follow(_ fleet: String, _ receiver: OrderReceiver) async throws(CancellationError) {
        let call = Call(.lifecycle, "GET", "/v1/fleets/{fleet}/orders", [fleet])
        var resume: String?
        var pause = Duration.milliseconds(200)
        while true {
            var last = resume
            let status = try? await client.stream(.lifecycle, call.path, after: resume) {
                statistics.note { $0.streamsOpened += 1 }
            } _: { event in
                last = event.id ?? last
                guard let document = try? JSON(parsing: Array(event.data.utf8)), let order = Order(document) else {
                    return statistics.complain("the order stream sent an invalid order")
                }
                await receiver.deliver(order)
            }
            // The log no longer has the position: start again without one.
            resume = status == 410 ? nil : last
            pause = status == 200 ? .milliseconds(200) : min(pause * 2, .milliseconds(1600))
            do { try await Task.sleep(for: pause) } catch { throw CancellationError() }
        }
    }
}
