import Contracts
import HeapModule
import Records
import Scenarios
import Timeline

/// A device of a scenario in a running suite: its apps, the person who carries it, and the work that is due.
///
/// It acts by REST, and obeys the orders and the notifications of its streams. At equal times the order is: the person
/// and the surroundings, pushes, other work.
actor ScenarioDevice {
    let index: Int
    let name: String
    let planned: PlannedDevice
    let world: ScenarioWorld
    let faults: [PlannedFault]
    var profile: Profile
    var calls: DeviceCalls
    var apps: [ScenarioAppState]
    /// The suite time of the device's last step.
    var now: Instant
    /// The network of the person's plan, without faults.
    var plannedNetwork: NetworkText
    /// The surroundings at the registration.
    private(set) var battery: (level: Percent, isCharging: Bool)
    private(set) var isFocused: Bool
    private(set) var isLowPowerMode: Bool
    var generation: ProfileName
    /// The faults that last.
    var activeFaults: Set<Int> = []
    /// The wakes for tasks whose handlers never return.
    var hangingTasks: Set<String> = []
    /// The files for uploads that apps have, as `app/name`.
    var writtenFiles: Set<String> = []
    /// The number of submitted continued processing tasks.
    var continuedTasks = 0
    /// The number of the person's uses of apps.
    var uses = 0
    var isPoweredOn = true
    /// The number of the connection to `push`; it increases with each.
    var connection = 0
    var isConnected = false
    var isConnecting = false
    /// The contents of notifications that the device has and did not show yet.
    var unshown: [String: DeliveredNotification] = [:]
    /// The position after the last order, for polls.
    var lastOrder: String?
    /// The offset of the last order.
    private var latestOrder = 0
    private var expectedDeliveries = 0
    private var deliveries = 0
    private var waiter: CheckedContinuation<Void, Never>?

    private var timeline: DeviceTimeline.Iterator
    private var nextEvent: DeviceEvent?
    private let pushes: [PlannedPush]
    private var nextPush = 0
    private var works = Heap<Scheduled<ScenarioWork>>()
    private var scheduled = 0
    private var draws = 0

    init(_ index: Int, _ world: ScenarioWorld) {
        self.index = index
        self.world = world
        name = ScenarioWorld.name(of: index, fleet: world.fleet)
        let timeline = world.plan.timeline(of: index)
        planned = timeline.device
        faults = world.plan.faults(of: index)
        generation = planned.profile
        profile = Generations.standard[planned.profile]
        battery = (timeline.initial.level, timeline.initial.isCharging)
        isFocused = timeline.initial.isFocused
        isLowPowerMode = timeline.initial.isLowPowerMode
        calls = DeviceCalls(
            world.client, world.statistics, run: world.run, name: name,
            seed: world.plan.seed ^ UInt64(truncatingIfNeeded: index))
        apps = world.plan.scenario.apps.map {
            ScenarioAppState(started: Array(repeating: 0, count: $0.transfers.count))
        }
        now = world.plan.begin
        plannedNetwork = timeline.initial.network
        pushes = world.plan.pushes(to: index)
        self.timeline = timeline.makeIterator()
        nextEvent = self.timeline.next()
    }

    var scenario: Scenario { world.plan.scenario }
    var group: Group { scenario.people[planned.group] }

    /// The time of the next step; nil if the device waits for the suite.
    var nextStep: Instant? {
        let push = nextPush < pushes.count ? pushes[nextPush].at : nil
        return [nextEvent?.at, push, works.min?.at].compactMap(\.self).min()
    }

    /// Skips all actions before a time. The surroundings become as they are at that time.
    func skip(to moment: Instant) {
        now = max(now, moment)
        while let event = nextEvent, event.at < moment {
            switch event.action {
            case .network(let network): plannedNetwork = network
            case .battery(let level, let isCharging): battery = (level, isCharging)
            case .focus(let isOn): isFocused = isOn
            case .lowPowerMode(let isOn): isLowPowerMode = isOn
            case .update(let name):
                generation = name
                profile = Generations.standard[name]
            case .open, .home, .forceQuit, .withdrawLocation, .visit, .accessory, .healthSample: break
            }
            nextEvent = timeline.next()
        }
        while nextPush < pushes.count, pushes[nextPush].at < moment { nextPush += 1 }
    }

    /// Takes one step that is due.
    ///
    /// - Returns: the time of the next step.
    func step(at moment: Instant) async throws(CancellationError) -> Instant? {
        now = max(now, moment)
        if let event = nextEvent, event.at <= now {
            nextEvent = timeline.next()
            try await perform(event.action)
        } else if nextPush < pushes.count, pushes[nextPush].at <= now {
            nextPush += 1
            try await send(pushes[nextPush - 1])
        } else if let work = works.min, work.at <= now {
            works.removeMin()
            if work.run == nil || work.run == work.app.map({ apps[$0].run }) { try await perform(work) }
        }
        return nextStep
    }

    // MARK: Requests

    /// Sends a request, and returns its response; nil after a refusal or a failure.
    @discardableResult
    func call(
        _ service: ServiceName, _ method: String, _ route: String, _ parameters: [String] = [], _ body: JSON? = nil
    ) async throws(CancellationError) -> JSON? {
        guard world.has(service) else { return nil }
        return try await perform(Call(service, method, "/v1/devices/{device}" + route, [name] + parameters, body))
    }

    /// Sends a request, and returns its response; nil after a refusal or a failure.
    func perform(_ call: Call) async throws(CancellationError) -> JSON? {
        // A copy, because the actor handles orders while the request is under way. No other request is.
        var own = calls
        let outcome = try await own.perform(call)
        calls = own
        return outcome.answer
    }

    /// Reads the state of the device at `lifecycle`.
    func state() async throws(CancellationError) -> JSON { try await call(.lifecycle, "GET", "") ?? .null }

    /// Reads the state of an app.
    func state(of app: String) async throws(CancellationError) -> AppState? {
        try await call(.lifecycle, "GET", "/apps/{app}", [app])?["state"]?.string.flatMap(AppState.init(rawValue:))
    }

    // MARK: Work

    /// Schedules work of the device; of the current process of an app if `app` is given.
    func schedule(_ kind: ScenarioWork, of app: Int? = nil, after delay: Interval, from begin: Instant? = nil) {
        scheduled += 1
        works.insert(
            Scheduled(
                at: (begin ?? now) + delay, number: scheduled, app: app, run: app.map { apps[$0].run }, kind: kind))
    }

    /// Returns new random numbers.
    func draw(_ purpose: RandomPurpose) -> SeededRandom {
        draws += 1
        return world.plan.random(purpose, device: index, number: draws)
    }

    // MARK: Streams

    /// Notes an order. The orders of a device come in the order of the log, and each event gives at most one.
    ///
    /// - Returns: false for an order that the device has obeyed already.
    func isNew(_ order: Order) -> Bool {
        guard let offset = order.position?.offset, offset > latestOrder else { return false }
        latestOrder = offset
        return true
    }

    /// Ignores orders up to a position, which belong to an earlier life of the device.
    func ignoreOrders(upTo position: Position?) { latestOrder = max(latestOrder, position?.offset ?? 0) }

    /// The log has deliveries that the stream must bring.
    func expectDeliveries(_ count: Int) { expectedDeliveries += count }

    func countDelivery() {
        deliveries += 1
        guard deliveries >= expectedDeliveries else { return }
        waiter?.resume()
        waiter = nil
    }

    /// Waits until the stream has brought all deliveries of the log, or has ended.
    func awaitDeliveries() async {
        guard deliveries < expectedDeliveries, isConnected else { return }
        await withCheckedContinuation { waiter = $0 }
    }

    /// Ends the wait for deliveries that the stream did not bring.
    func giveUpDeliveries() {
        // A killed process may have logged a delivery that it did not send. Its successor delivers again.
        if !world.killsPush {
            world.statistics.complain("the stream of push did not bring a notification of the log")
        }
        deliveries = expectedDeliveries
        waiter?.resume()
        waiter = nil
    }

    /// The connection to `push` has ended.
    func disconnected(_ number: Int) {
        guard number == connection else { return }
        isConnected = false
        deliveries = expectedDeliveries
        waiter?.resume()
        waiter = nil
        considerConnecting()
    }
}
