import Contracts
import Records
import Timeline

/// The devices of a run in virtual time, with the time of the next step of each.
struct VirtualStepper {
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
