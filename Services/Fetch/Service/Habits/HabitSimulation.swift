import Contracts
import FetchMachine
import HeapModule
import Machines
import Records
import Timeline

/// What users' habits lead to: some days of one device in virtual time, decided by the real machine, with a `lifecycle`
/// that wakes apps at once. No clock and no chance but the seed's: the same device lives the same life everywhere.
struct HabitSimulation {
    private let device: HabitualDevice
    private let key: AggregateKey
    private var runtime: InMemoryRuntime<FetchMachine>
    private var coming: Heap<ToldEvent>
    private var told: Int
    private var outcome: HabitOutcome

    /// Lives through all days of a device.
    ///
    /// - Parameter policy: a ceiling of the suite in it would hold the moments of this one device alone.
    static func run(_ device: HabitualDevice, policy: FetchPolicy = .habitual) throws -> HabitOutcome {
        var simulation = HabitSimulation(device, policy)
        try simulation.live()
        return simulation.outcome
    }

    private init(_ device: HabitualDevice, _ policy: FetchPolicy) {
        self.device = device
        key = .device(device.name)
        runtime = InMemoryRuntime(policy: policy, seed: "habits")
        let calendar = HabitCalendar(zone: device.timeZone, offset: policy.timeZoneOffset)
        let script = HabitScript(device, calendar)
        coming = Heap(script.events)
        told = script.events.count
        outcome = HabitOutcome(device, calendar)
    }

    private mutating func live() throws {
        try hear(upTo: outcome.begin)
        for app in device.apps {
            _ = try runtime.submit(.setInterval(app: app.name, app.interval), to: key, at: outcome.begin)
        }
        try hear(upTo: outcome.end - .milliseconds(1))
        outcome.state = runtime.state(key)
    }

    /// What comes first is first, and deadlines before what is told, as in the durable runtime.
    private mutating func hear(upTo end: Instant) throws {
        while let at = [runtime.nextDeadline, coming.min?.at].compactMap(\.self).min(), at <= end {
            if runtime.nextDeadline == at {
                try answer(runtime.advance(to: at))
            } else if let event = coming.popMin() {
                try answer(tell(event.data, at: event.at, number: event.number))
            }
        }
    }

    private mutating func tell(_ data: some EventData, at time: Instant, number: Int) throws -> [Event] {
        let id = DecisionIdentifiers.derived("told", key.description, String(number))
        return try runtime.deliver(
            Event(
                id: id, source: LifecycleEvent.source, type: Swift.type(of: data).type, version: 1, key: key,
                app: data.app, time: time, correlation: id, causation: nil, traceparent: nil, data: data.jsonBytes))
    }

    /// Takes down what the machine says, and does as `lifecycle` and the app would.
    private mutating func answer(_ events: [Event]) throws {
        for event in events {
            guard let name = event.app, let index = device.apps.firstIndex(where: { $0.name == name }) else { continue }
            switch event.type {
            case FetchEvent.AppOpened.type:
                let opened = try FetchEvent.AppOpened(jsonBytes: event.data)
                outcome.apps[index].openings.append(.init(at: event.time, contentAge: opened.contentAgeSeconds))
            case FetchEvent.RefreshDue.type:
                wake(device.apps[index], try FetchEvent.RefreshDue(jsonBytes: event.data).fetch, at: event.time)
            case FetchEvent.RefreshRecorded.type:
                let recorded = try FetchEvent.RefreshRecorded(jsonBytes: event.data)
                outcome.apps[index].refreshes.append(
                    .init(begin: recorded.dueAt, end: event.time, result: recorded.result))
            default: break
            }
        }
    }

    private mutating func wake(_ app: HabitualApp, _ fetch: String, at time: Instant) {
        let deadline = time + HabitualAnswer.limit
        expect(
            LifecycleEvent.AppWoken(
                app: app.name, callbacks: [], deadline: deadline, from: .suspended, limit: HabitualAnswer.limit,
                reason: .fetch, request: fetch, wake: fetch), at: time)
        guard !app.answer.isTooSlow else {
            return expect(
                LifecycleEvent.AppTerminated(app: app.name, callbacks: [], from: .background, reason: .fetchTimeout),
                at: deadline)
        }
        expect(
            LifecycleEvent.WakeCompleted(
                app: app.name, bytesReceived: app.answer.bytes, reason: .fetch, request: fetch,
                result: app.answer.result, wake: fetch), at: time + app.answer.elapsed)
    }

    private mutating func expect(_ data: any EventData, at time: Instant) {
        coming.insert(ToldEvent(at: time, number: told, data: data))
        told += 1
    }
}

extension FetchPolicy {
    /// As it is by default, but for the ceiling of wakes over a whole suite: there is one device.
    static var habitual: FetchPolicy {
        let zones = TimeZones()
        var policy = FetchPolicy { zone, moment in zones.offset(zone, at: moment) }
        policy.ceiling = nil
        return policy
    }
}
