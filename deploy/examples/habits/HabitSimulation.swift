import Contracts
import FetchCore
import Foundation
import HeapModule
import Machines
import Records
import Timeline

/// A simulation of one device for some days of virtual time, with the real machine and a `lifecycle` that wakes apps at
/// once. It is deterministic: the same device and seed give the same outcome.
struct HabitSimulation {
    private let device: HabitualDevice
    private let key: AggregateKey
    private var runtime: InMemoryRuntime<FetchMachine>
    private var coming: Heap<ToldEvent>
    private var told: Int
    private var outcome: HabitOutcome

    /// Simulates all days of a device. A limit of wakes in the policy would apply to this device alone.
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

    /// Processes inputs in the order of time. Deadlines come before events of the same time, as in the durable runtime.
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

    /// Records the decisions of the machine and responds as `lifecycle` and the app would.
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
    /// The default policy without the limit of wakes per second, because there is one device.
    static var habitual: FetchPolicy {
        var policy = FetchPolicy { zone, moment in
            let date = Date(timeIntervalSince1970: Double(moment.milliseconds) / 1000)
            return (TimeZone(identifier: zone) ?? .gmt).secondsFromGMT(for: date)
        }
        policy.ceiling = nil
        return policy
    }
}
