import Scenarios
import Contracts
import Records
import Timeline

// The run in virtual time.
extension ScenarioRun {
    /// The longest advance on the way to the beginning.
    private static let part = Interval.hours(6)
    /// The rounds of actions at one instant after which the run ends, because its time stands still.
    private static let mostRoundsAtOnce = 1000

    /// Moves the clock of the suite from one action or deadline to the next one. At each, all services settle before
    /// the devices act, and the devices get all their orders and notifications.
    func runVirtual(_ world: ScenarioWorld, ops: String, _ reading: SuiteOperations.Reading) async throws -> Instant {
        let plan = world.plan
        if !reading.isFrozen { try await SuiteOperations.freeze(client, address: ops, true) }
        let result: Result<Instant, any Error>
        do {
            try await approach(plan.begin, ops: ops)
            result = .success(try await step(world, ops: ops, from: plan.begin))
        } catch { result = .failure(error) }
        // Also after a failure, the clock goes on as before. A cancelled task sends nothing, so another one does.
        if !reading.isFrozen {
            await Task {
                try? await SuiteOperations.freeze(client, address: ops, false, within: .seconds(5))
            }.value
        }
        return try result.get()
    }

    /// Advances the clock to the beginning of the scenario, in parts that an interruption can wait for.
    ///
    /// - Throws: ``FleetError`` if another client moves the clock beyond it.
    private func approach(_ begin: Instant, ops: String) async throws {
        var now = try await SuiteOperations.read(client, address: ops).now
        while now < begin {
            try Task.checkCancellation()
            now = try await SuiteOperations.advance(client, address: ops, by: min(begin - now, Self.part), step: false)
        }
        guard now == begin else {
            throw FleetError("the suite time is \(now), after \(begin): another client moves the clock; start again")
        }
    }

    private func step(_ world: ScenarioWorld, ops: String, from begin: Instant) async throws -> Instant {
        let devices = (0..<world.plan.scenario.devices.count).map { ScenarioDevice($0, world) }
        let feed = SuiteOperations(client, address: ops, names: Set(devices.map(\.name)), since: begin)
        try await eachOf(devices) { device in
            guard try await device.begin() else {
                throw FleetError("the suite refuses the device \(device.name) or one of its apps")
            }
        }
        note { $0.begin = world.plan.begin }
        var stepper = VirtualStepper(devices: devices, feed: feed, recorder: recorder, concurrency: options.concurrency)
        var now = begin
        var kills = world.plan.kills[...]
        var hasActed = true
        var roundsAtOnce = 0
        let started = ContinuousClock.now
        while now < world.plan.end, !isOver(since: started) {
            do {
                if hasActed {
                    now = try await SuiteOperations.advance(client, address: ops, by: .zero, step: false)
                }
                try await stepper.collect()
                try await tokens.post(client, statistics)
                let next = min(stepper.next ?? world.plan.end, kills.first?.at ?? world.plan.end, world.plan.end)
                hasActed = next <= now
                if let kill = kills.first, kill.at <= now {
                    // The clock stands while a service is down, because each step waits for all services.
                    kills.removeFirst()
                    try await serviceFaults?.begin(kill.service)
                    try await serviceFaults?.end(kill.service)
                } else if hasActed {
                    try await stepper.act(at: now)
                } else {
                    now = try await SuiteOperations.advance(client, address: ops, by: next - now, step: true)
                }
                roundsAtOnce = hasActed ? roundsAtOnce + 1 : 0
                guard roundsAtOnce < Self.mostRoundsAtOnce else {
                    throw FleetError("the devices have acted \(roundsAtOnce) times at \(now), and want to act again")
                }
                let done = now - world.plan.begin
                note { $0.done = done }
            } catch is CancellationError {
                note { $0.endReason = .interrupted }
                break
            }
        }
        return now
    }

    func isOver(since start: ContinuousClock.Instant) -> Bool {
        if Task.isCancelled {
            note { $0.endReason = .interrupted }
            return true
        }
        guard let limit = options.limit, start + .milliseconds(limit.milliseconds) <= .now else { return false }
        note { $0.endReason = .limit }
        return true
    }

    /// Calls a body for each device, as many at once as the options allow.
    func eachOf(
        _ devices: [ScenarioDevice], _ body: @escaping @Sendable (ScenarioDevice) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var rest = devices[...]
            for device in rest.prefix(options.concurrency) { group.addTask { try await body(device) } }
            rest = rest.dropFirst(options.concurrency)
            while try await group.next() != nil {
                if let device = rest.popFirst() { group.addTask { try await body(device) } }
            }
        }
    }
}
