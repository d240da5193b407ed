import Scenarios
import Contracts
import Records
import Timeline

// The run in virtual time.
extension ScenarioRun {
    /// Moves the clock of the suite from one action or deadline to the next one. At each, all services settle before
    /// the devices act, and the devices get all their orders and notifications.
    func runVirtual(_ world: ScenarioWorld, ops: String, _ reading: SuiteOperations.Reading) async throws -> Instant {
        let plan = world.plan
        if !reading.isFrozen { try await SuiteOperations.freeze(client, address: ops, true) }
        let result: Result<Instant, any Error>
        do {
            let now = try await SuiteOperations.read(client, address: ops).now
            let begin = try await SuiteOperations.advance(client, address: ops, by: max(.zero, plan.begin - now), step: false)
            result = .success(try await step(world, ops: ops, from: begin))
        } catch { result = .failure(error) }
        // Also after a failure, the clock goes on as before. A cancelled task sends nothing, so another one does.
        if !reading.isFrozen {
            await Task { try? await SuiteOperations.freeze(client, address: ops, false) }.value
        }
        return try result.get()
    }

    private func step(_ world: ScenarioWorld, ops: String, from begin: Instant) async throws -> Instant {
        let devices = (0..<world.plan.scenario.devices.count).map { ScenarioDevice($0, world) }
        let feed = SuiteOperations(client, address: ops, names: Set(devices.map(\.name)), since: begin)
        try await eachOf(devices) { device in
            guard try await device.begin() else {
                throw FleetError("the suite refuses the device \(device.name) or one of its apps")
            }
        }
        var stepper = VirtualStepper(devices: devices, feed: feed, recorder: recorder, concurrency: options.concurrency)
        var now = begin
        var hasActed = true
        let started = ContinuousClock.now
        while now < world.plan.end, !isOver(since: started) {
            do {
                if hasActed {
                    now = try await SuiteOperations.advance(client, address: ops, by: .zero, step: false)
                }
                try await stepper.collect()
                try await tokens.post(client, statistics)
                let next = min(stepper.next ?? world.plan.end, world.plan.end)
                hasActed = next <= now
                if hasActed {
                    try await stepper.act(at: now)
                } else {
                    now = try await SuiteOperations.advance(client, address: ops, by: next - now, step: true)
                }
                let done = now - world.plan.begin
                note { $0.done = done }
            } catch is CancellationError { break }
        }
        return now
    }

    func isOver(since start: ContinuousClock.Instant) -> Bool {
        guard !Task.isCancelled else { return true }
        guard let limit = options.limit else { return false }
        return start + .milliseconds(limit.milliseconds) <= .now
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

/// The devices of a run in virtual time, with the time of the next step of each.
private struct VirtualStepper {
    let devices: [ScenarioDevice]
    let feed: SuiteOperations
    let recorder: any ScenarioRecorder
    let concurrency: Int
    private var due: [Instant?]
    private let indexes: [String: Int]

    init(devices: [ScenarioDevice], feed: SuiteOperations, recorder: any ScenarioRecorder, concurrency: Int) {
        self.devices = devices
        self.feed = feed
        self.recorder = recorder
        self.concurrency = concurrency
        due = devices.map { _ in Instant.epoch }
        indexes = Dictionary(uniqueKeysWithValues: devices.enumerated().map { ($1.name, $0) })
    }

    /// The earliest time at which a device acts.
    var next: Instant? { due.compactMap(\.self).min() }

    /// Reads the new events, and lets their devices get all that follows from them.
    mutating func collect() async throws {
        let events = try await feed.events()
        recorder.took(events)
        var touched = Set(events.compactMap { $0.key.device.flatMap { indexes[$0] } })
        for index in due.indices where due[index] == .epoch { touched.insert(index) }
        var deliveries: [Int: Int] = [:]
        for event in events where event.type == PushEvent.NotificationDelivered.type {
            if let index = event.key.device.flatMap({ indexes[$0] }) { deliveries[index, default: 0] += 1 }
        }
        let counts = deliveries
        try await each(touched.sorted()) { index, device in
            if let count = counts[index] {
                await device.expectDeliveries(count)
                try await Self.awaitDeliveries(of: device)
            }
            return try await device.poll()
        }
    }

    /// Waits until the stream has brought all deliveries of the log, for ten seconds at most.
    private static func awaitDeliveries(of device: ScenarioDevice) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await device.awaitDeliveries() }
            group.addTask {
                try await Task.sleep(for: .seconds(10))
                await device.giveUpDeliveries()
            }
            try await group.next()
            group.cancelAll()
        }
    }

    /// Takes one step of each device that is due.
    mutating func act(at now: Instant) async throws {
        try await each(due.indices.filter { due[$0].map { $0 <= now } ?? false }) { _, device in
            try await device.step(at: now)
        }
    }

    private mutating func each(
        _ indexes: [Int], _ body: @escaping @Sendable (Int, ScenarioDevice) async throws -> Instant?
    ) async throws {
        let devices = devices
        try await withThrowingTaskGroup(of: (Int, Instant?).self) { group in
            var rest = indexes[...]
            for index in rest.prefix(concurrency) { group.addTask { (index, try await body(index, devices[index])) } }
            rest = rest.dropFirst(concurrency)
            while let (index, next) = try await group.next() {
                due[index] = next
                if let index = rest.popFirst() { group.addTask { (index, try await body(index, devices[index])) } }
            }
        }
    }
}
