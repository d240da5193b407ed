package import Contracts
package import FetchMachine
package import Machines
import OrderedCollections
import Records
package import TestSupport
package import Timeline

/// A random life of a device, with a `lifecycle` that answers as it likes, or not at all.
package struct FetchLife: Life {
    package static let key = AggregateKey.device("d")
    package static let apps = ["a", "b", "c"]

    package let policy = FetchPolicy.forTests
    private var random: SplitMix64
    package var runtime: InMemoryRuntime<FetchMachine>
    package private(set) var now = Instant.monday
    private var told = 0
    package var device: FetchMachine { runtime.state(Self.key) }

    package init(_ random: SplitMix64) {
        self.random = random
        runtime = InMemoryRuntime(policy: .forTests, seed: "life")
    }

    package mutating func begin() throws {
        var registration = Registration(profile: .ios15)
        registration.timeZone = chance(2) ? "Test/TwoHoursEast" : nil
        try tell(LifecycleEvent.DeviceRegistered(registration: registration))
        for app in Self.apps {
            try tell(LifecycleEvent.AppInstalled(app: app, manifest: Manifest(backgroundModes: [.fetch])))
        }
    }

    @discardableResult
    package mutating func step() throws -> (any Error)? {
        let pause: Int64 = chance(6) ? 7_200_000 : 400_000
        now = now + .milliseconds(Int64.random(in: 0...pause, using: &random))
        try runtime.advance(to: now)
        let before = device.binary
        do {
            if chance(4) { try runtime.submit(command(), to: Self.key, at: now) } else { try hear() }
            return nil
        } catch let refusal as FetchRefusal {
            try hold(device.binary == before, "a refusal changes nothing")
            return refusal
        }
    }

    private mutating func chance(_ times: Int) -> Bool { Int.random(in: 0..<times, using: &random) == 0 }
    private mutating func anyApp() -> String { Self.apps[Int.random(in: 0..<Self.apps.count, using: &random)] }

    private mutating func command() -> FetchCommand {
        let intervals: [FetchInterval] = [
            .never, .minimum, .minimum, .atLeast(.zero), .atLeast(.seconds(Int64(1200))), .atLeast(.hours(5)),
        ]
        if chance(5) { return .simulateFetch(app: anyApp()) }
        return .setInterval(app: anyApp(), intervals[Int.random(in: 0..<intervals.count, using: &random)])
    }

    /// Something that `lifecycle` tells; answers to running refreshes most of all.
    private mutating func hear() throws {
        let app = anyApp()
        if let running = device.apps[app]?.running, !chance(4) { return try answer(app, running) }
        switch Int.random(in: 0..<12, using: &random) {
        case 0: try tell(LifecycleEvent.AppLaunched(app: app, callbacks: []))
        case 1: try tell(LifecycleEvent.AppActivated(app: app, callbacks: []))
        case 2, 3: try tell(LifecycleEvent.AppBackgrounded(app: app, cause: .home, callbacks: [], taskTime: .zero))
        case 4: try tell(LifecycleEvent.AppTerminated(app: app, callbacks: [], from: .suspended, reason: .forceQuit))
        case 5: try tell(LifecycleEvent.DevicePowered(power: chance(4) ? .off : .boot))
        case 6:
            try tell(
                LifecycleEvent.SettingsChanged(
                    app: chance(2) ? app : nil, settings: Settings(backgroundRefresh: chance(3) ? .off : .on)))
        case 7 where chance(6): try tell(LifecycleEvent.AppUninstalled(app: app))
        case 7, 8: try tell(LifecycleEvent.AppInstalled(app: app, manifest: Manifest(backgroundModes: [.fetch])))
        default: try tell(LifecycleEvent.ConditionsChanged(conditions: conditions()))
        }
    }

    private mutating func answer(_ app: String, _ running: RunningFetch) throws {
        if running.startedAt == nil {
            if chance(4) {
                try tell(
                    LifecycleEvent.WakeRefused(
                        app: app, reason: .fetch, refusal: .deviceOff, request: running.fetch))
            } else {
                try tell(
                    LifecycleEvent.AppWoken(
                        app: app, callbacks: [], deadline: now + .seconds(Int64(30)), from: .suspended,
                        limit: .seconds(Int64(30)), reason: .fetch, request: running.fetch, wake: "w"))
            }
        } else if chance(5) {
            try tell(LifecycleEvent.AppTerminated(app: app, callbacks: [], from: .background, reason: .fetchTimeout))
        } else {
            let result: WakeResult = chance(2) ? .newData : .noData
            try tell(
                LifecycleEvent.WakeCompleted(
                    app: app, reason: .fetch, request: running.fetch, result: result, wake: "w"))
        }
    }

    private mutating func conditions() -> Conditions {
        var conditions = Conditions()
        switch Int.random(in: 0..<5, using: &random) {
        case 0:
            var battery = Battery()
            battery.level = Double(Int.random(in: 0...100, using: &random)) / 100
            battery.charging = chance(2)
            conditions.battery = battery
        case 1: conditions.lowPowerMode = chance(3)
        case 2:
            var network = Network()
            network.kind = chance(4) ? .none : chance(2) ? .cellular : .wifi
            network.expensive = chance(3)
            conditions.network = network
        case 3: conditions.thermal = chance(4) ? .serious : .nominal
        default: conditions.locked = chance(2)
        }
        return conditions
    }

    private mutating func tell(_ data: some EventData) throws {
        told += 1
        let id = DecisionIdentifiers.derived("told", String(told))
        try runtime.deliver(
            Event(
                id: id, source: LifecycleEvent.source, type: Swift.type(of: data).type, version: 1, key: Self.key,
                app: data.app, time: now, correlation: id, causation: nil, traceparent: nil, data: data.jsonBytes))
    }
}

extension FetchPolicy {
    package static var forTests: FetchPolicy { FetchPolicy { zone, _ in zone == "Test/TwoHoursEast" ? 7200 : 0 } }
}

extension Instant {
    /// Monday, 2025-06-16T00:00:00Z.
    package static let monday = Instant(milliseconds: 1_750_032_000_000)
}
