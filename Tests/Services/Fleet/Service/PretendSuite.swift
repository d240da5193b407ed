import Records
import Timeline

@testable import FleetService

/// A fake of `lifecycle` for one device, without I/O.
struct PretendSuite {
    var device: SimulatedDevice
    var states: [String: SimulatedApp.State] = [:]
    /// All actions of the device with their times.
    var told: [(at: Instant, action: Action)] = []
    /// Actions of apps that were not running at their decision.
    var actedWhileStopped: [Action] = []
    private(set) var now: Instant
    private var offset = 0
    private var works = 0

    init(_ device: SimulatedDevice, at now: Instant) {
        self.device = device
        self.now = now
        for app in device.apps { states[app.model.identifier] = .notRunning }
    }

    /// Returns a device of fleet `f` that starts at 08:00 local time on a Friday.
    static func device(
        seed: UInt64, rate: Double = 60, services: Set<ServiceName> = [.lifecycle, .fetch, .push, .transfer],
        index: Int = 0
    ) -> SimulatedDevice {
        var pace = Pace(begin: start, peopleBegin: start, rate: rate)
        let made = SimulatedDevice(index: index, fleet: "f", seed: seed, pace: pace, services: services)
        pace.peopleBegin = start - made.person.timeZone.offset
        return SimulatedDevice(index: index, fleet: "f", seed: seed, pace: pace, services: services)
    }

    /// Friday, 2026-11-20T08:00:00Z.
    static let start = Instant(milliseconds: 1_795_161_600_000)

    /// Runs the device until a time.
    mutating func run(until end: Instant) {
        while let due = device.nextDue, due <= end {
            now = max(now, due)
            perform(device.decide(now))
        }
        now = max(now, end)
    }

    /// Creates the order of a new event.
    mutating func order(
        _ kind: Order.Kind, _ app: String, name: String = "", data: JSON = [:], wantsAnswer: Bool = false
    ) -> Order? {
        offset += 1
        return Self.order(
            kind, app, device: device.identifier, offset: offset, name: name, data: data, wantsAnswer: wantsAnswer)
    }

    static func order(
        _ kind: Order.Kind, _ app: String, device: String, offset: Int, name: String = "", data: JSON = [:],
        wantsAnswer: Bool = false
    ) -> Order? {
        Order([
            "order": .string("3:\(offset)"), "device": .string(device), "app": .string(app),
            "type": .string(kind.rawValue), "name": .string(name), "data": data,
            "deadline": wantsAnswer ? "2026-11-20T08:00:30.000Z" : .null,
        ])
    }

    /// Creates an order and passes it to the device.
    mutating func give(
        _ kind: Order.Kind, _ app: String, name: String = "", data: JSON = [:], wantsAnswer: Bool = false
    ) {
        guard let order = order(kind, app, name: name, data: data, wantsAnswer: wantsAnswer) else { return }
        switch kind {
        case .wake where order.startsExport: break
        case .wake: states[app] = .background
        case .suspend: states[app] = .suspended
        case .terminate: states[app] = .notRunning
        case .callback, .expiration, .challenge, .transferProgress, .taskExpiration: break
        }
        device.handle(order, at: now)
    }

    private mutating func perform(_ actions: [Action]) {
        // Like the run: an action may stop an app, whose later actions are then dropped.
        for action in actions where device.mayPerform(action) {
            told.append((now, action))
            if let app = action.actingApp, states[app]?.isRunning != true { actedWhileStopped.append(action) }
            perform(device.learn(answer(action), of: action, at: now))
        }
    }

    private mutating func answer(_ action: Action) -> Outcome {
        offset += 1
        switch action {
        case .transition(let app, let event):
            let home: SimulatedApp.State = states[app]?.isRunning == true ? .background : states[app] ?? .notRunning
            let new: [String: SimulatedApp.State] = [
                "launch": .active, "open": .active, "dismiss": .active, "interrupt": .inactive, "home": home,
                "crash": .notRunning,
            ]
            states[app] = new[event]
        case .swipe(let app): states[app] = .notRunning
        case .beginTask:
            works += 1
            return .done(["task": .string("task-\(works)")], asOf: offset)
        case .upload:
            works += 1
            return .done(["task": .int(works)], asOf: offset)
        case .pauseUpload: return .done(["error": ["resumeData": "rest"]], asOf: offset)
        case .changeLocation, .monitorSignificantChanges, .requestAuthorization, .startWaiting, .occur:
            return .done([:], asOf: offset)
        case .report, .look, .acknowledge, .modify, .open, .reply, .keepAlive, .completeCallback, .endTask,
            .completeWake, .openSession, .setInterval, .download, .answerChallenge, .register, .setCategories, .export,
            .cancelExport, .reportProgress, .storeFile, .continueUpload, .joinChannel:
            return .done([:], asOf: offset)
        }
        guard case .transition(let app, _) = action else { return .done(["state": "notRunning"], asOf: offset) }
        return .done(["state": .string(states[app]?.rawValue ?? "")], asOf: offset)
    }
}
