public import Contracts
public import Records
import Scenarios
public import Timeline

/// A device with its user and its apps, as a value. Its actions depend only on the seed and on its inputs.
///
/// The caller calls ``decide(_:)`` at ``nextDue`` and performs the actions in order. It passes on the results
/// (``learn(_:of:at:)``), the orders (``handle(_:at:)``) and the notifications (``receive(_:at:)``). All times are real
/// time; ``Pace`` converts the time of users. Code of an app acts only while the simulated state lets the app run.
public struct SimulatedDevice: Sendable, Equatable {
    public let identifier: String
    public let fleet: String
    public let person: Person
    public let profile: ProfileName
    public let pace: Pace
    /// The available services.
    public let services: Set<ServiceName>
    public internal(set) var apps: [SimulatedApp]
    var random: SeededRandom
    var works: [Work] = []
    var isLocked = true
    /// The place of the user; nil before the first report.
    var place: SimulatedPlace?
    /// The index of the app on screen.
    var onScreen: Int?
    /// The offset of the newest handled order, and the keys of its handled orders.
    var latestOrder = 0
    var obeyed: [String] = []
    /// The bytes of completed downloads.
    public internal(set) var bytesReceived = 0

    /// Creates the device with this index in a fleet.
    public init(index: Int, fleet: String, seed: UInt64, pace: Pace, services: Set<ServiceName>) {
        var random = SeededRandom(seed: seed, index: index)
        identifier = Self.identifier(index: index, fleet: fleet)
        self.fleet = fleet
        person = Person(&random)
        profile = random.pick(Self.profiles)
        self.pace = pace
        self.services = services
        var models = AppModel.store
        apps = (0..<random.number(2...3)).map { _ in
            SimulatedApp(models.remove(at: random.number(0...(models.count - 1))))
        }
        self.random = random
        schedule(.report, at: pace.begin)
        schedulePickUp(after: pace.begin)
        if services.contains(.push) { scheduleKeepAlive(after: pace.begin) }
    }

    /// All profiles, each as often as its place among them: most people have a new iOS.
    private static let profiles = ProfileName.allCases.enumerated().flatMap { index, profile in
        Array(repeating: profile, count: index + 1)
    }

    /// Returns the identifier of a device of a fleet.
    public static func identifier(index: Int, fleet: String) -> String { "\(fleet)-\(index)" }

    /// The document of `PUT /v1/devices/{device}`.
    public var registration: JSON {
        [
            "profile": .string(profile.rawValue), "fleet": .string(fleet), "timeZone": .string(person.timeZone.name),
            "memoryMB": profile >= .ios18 ? 8192 : 2048,
        ]
    }

    /// Whether the generation has a feature, by the table without overrides.
    public func has(_ feature: Feature) -> Bool { Generations.standard[profile].has(feature) }

    /// Whether the device has a network now.
    public func isOnline(at now: Instant) -> Bool {
        person.surroundings(at: pace.peopleTime(at: now), isLocked: isLocked).network != .none
    }

    /// Lets the user open each new app once, one after another, so that its code can register for notifications.
    public mutating func tryApps(from now: Instant) {
        for app in apps.indices { schedule(.tryOut, of: app, at: now + .milliseconds(2500) * Int64(app)) }
    }

    /// The time of the next work; nil if all work waits for the suite.
    public var nextDue: Instant? { works.lazy.filter { canBeDone($0) }.map(\.due).min() }

    /// Performs all due work in order of time, and returns the actions.
    public mutating func decide(_ now: Instant) -> [Action] {
        var actions: [Action] = []
        while let index = dueIndex(now) {
            let work = works.remove(at: index)
            actions += perform(work, at: now)
        }
        return actions
    }

    /// Whether an earlier action may still be performed. Code of a stopped app may not act.
    public func mayPerform(_ action: Action) -> Bool {
        guard let app = action.actingApp.flatMap(index(of:)) else { return true }
        return apps[app].state.isRunning
    }

    private func dueIndex(_ now: Instant) -> Int? {
        var found: Int?
        for (index, work) in works.enumerated() where work.due <= now && canBeDone(work) {
            if found.map({ works[$0].due <= work.due }) != true { found = index }
        }
        return found
    }

    private func canBeDone(_ work: Work) -> Bool {
        guard work.kind.isCode, let app = work.app else { return true }
        return apps[app].state.isRunning
    }

    mutating func schedule(_ kind: Work.Kind, of app: Int? = nil, at due: Instant) {
        works.append(Work(due: due, app: app, kind: kind))
    }

    /// Schedules work of an app after a random delay.
    mutating func schedule(_ kind: Work.Kind, of app: Int, in delay: ClosedRange<Interval>, after now: Instant) {
        schedule(kind, of: app, at: now + random.interval(delay))
    }

    mutating func drop(_ app: Int, where isDropped: (Work.Kind) -> Bool) {
        works.removeAll { $0.app == app && isDropped($0.kind) }
    }

    func index(of app: String) -> Int? { apps.firstIndex { $0.model.identifier == app } }
}
