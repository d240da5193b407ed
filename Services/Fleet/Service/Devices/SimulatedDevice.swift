public import Records
public import Timeline

/// A device with its person and its apps: a value that decides what they do, deterministic for a seed and for what it is told.
///
/// The shell asks ``decide(_:)`` when ``nextDue`` has come, performs the actions in order, and tells the answers
/// (``learn(_:of:at:)``), the orders (``obey(_:at:)``) and the notifications (``receive(_:at:)``). All moments are real ones;
/// the ``Pace`` tells how fast people live. Code of an app acts only while the device believes that the app can run.
public struct SimulatedDevice: Sendable, Equatable {
    public let identifier: String
    public let fleet: String
    public let person: Person
    public let profile: String
    public let pace: Pace
    /// The services that there are.
    public let services: Set<ServiceName>
    public internal(set) var apps: [SimulatedApp]
    var chance: Chance
    var works: [Work] = []
    var isLocked = true
    /// The app that the person looks at.
    var onScreen: Int?
    /// The newest offset of an order that was obeyed, and what was obeyed of it.
    var latestOrder = 0
    var obeyed: [String] = []
    /// What its downloads have brought, as far as it knows.
    public internal(set) var bytesReceived = 0

    /// The device with this index of a fleet.
    public init(index: Int, fleet: String, seed: UInt64, pace: Pace, services: Set<ServiceName>) {
        var chance = Chance(seed: seed, index: index)
        identifier = Self.identifier(index: index, fleet: fleet)
        self.fleet = fleet
        person = Person(&chance)
        profile = chance.pick(["ios18", "ios18", "ios18", "ios15", "ios15", "ios13", "ios7", "ios6"])
        self.pace = pace
        self.services = services
        var models = AppModel.store
        apps = (0..<chance.number(2...3)).map { _ in
            SimulatedApp(models.remove(at: chance.number(0...(models.count - 1))))
        }
        self.chance = chance
        schedule(.report, at: pace.begin)
        schedulePickUp(after: pace.begin)
        if services.contains(.push) { scheduleKeepAlive(after: pace.begin) }
    }

    /// The identifier of a device of a fleet.
    public static func identifier(index: Int, fleet: String) -> String { "\(fleet)-\(index)" }

    /// The document of `PUT /v1/devices/{device}`.
    public var registration: JSON {
        [
            "profile": .string(profile), "fleet": .string(fleet), "timeZone": .string(person.timeZone.name),
            "memoryMB": profile == "ios18" ? 8192 : 2048,
        ]
    }

    /// Background fetch, waking notifications and background sessions came with iOS 7.
    public var hasBackgroundServices: Bool { profile != "ios6" }

    /// Whether the device has a network now; without one it holds no connection.
    public func isOnline(at now: Instant) -> Bool {
        person.surroundings(at: pace.peopleTime(at: now), isLocked: isLocked).network != .none
    }

    /// When something is to be done next; nil where all waits for the suite.
    public var nextDue: Instant? { works.lazy.filter { canBeDone($0) }.map(\.due).min() }

    /// All that is due, in the order of its moments.
    public mutating func decide(_ now: Instant) -> [Action] {
        var actions: [Action] = []
        while let index = dueIndex(now) {
            let work = works.remove(at: index)
            actions += perform(work, at: now)
        }
        return actions
    }

    /// Whether an action that was decided before may still be performed: code of an app that was stopped meanwhile may not.
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

    /// Schedules code of an app after a time that is drawn by lot.
    mutating func schedule(_ kind: Work.Kind, of app: Int, in delay: ClosedRange<Interval>, after now: Instant) {
        schedule(kind, of: app, at: now + chance.interval(delay))
    }

    mutating func drop(_ app: Int, where isDropped: (Work.Kind) -> Bool) {
        works.removeAll { $0.app == app && isDropped($0.kind) }
    }

    func index(of app: String) -> Int? { apps.firstIndex { $0.model.identifier == app } }
}
