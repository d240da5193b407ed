import Contracts
import FetchCore
import LifecycleCore
import RandomScenarios
import Machines
import OrderedCollections
import PushCore
import Records
import TestSupport
import Timeline
import TransferCore

/// The machines of all services in memory, with one device. Each consumes the others' events.
struct DoorSuite: Sendable {
    typealias Place<M: Machine> = any WritableKeyPath<DoorSuite, InMemoryRuntime<M>> & Sendable

    static let key = AggregateKey.device("d1")
    static let app = "com.example.app"
    static let session = "s"
    static let channel = "AAAAAAAAAAAAAAAAAAAAAA=="
    static let policy = PushPolicy(partitions: 16)

    var lifecycle = InMemoryRuntime<LifecycleMachine>(policy: LifecyclePolicy())
    var fetch = InMemoryRuntime<FetchMachine>(policy: .forTests)
    var push = InMemoryRuntime<PushMachine>(policy: Self.policy)
    var transfer = InMemoryRuntime<TransferMachine>(policy: TransferPolicy())
    private(set) var now = Instant.monday
    /// The events of the last step, in order.
    private(set) var appended: [Event] = []
    private var offset = 0

    /// Lets a machine decide a command, and every machine consume the new events.
    mutating func submit<M: Machine>(_ command: M.Command, _ place: Place<M>) throws {
        now = now + .milliseconds(10)
        appended = []
        try follow(self[keyPath: place].submit(command, to: Self.key, at: now))
    }

    /// Advances time to the next deadline of any machine; does nothing without one.
    mutating func advance() throws {
        let deadlines = [lifecycle.nextDeadline, fetch.nextDeadline, push.nextDeadline, transfer.nextDeadline]
        guard let next = deadlines.compactMap({ $0 }).min() else { return }
        now = max(now, next)
        appended = []
        try follow(
            lifecycle.advance(to: now) + fetch.advance(to: now) + push.advance(to: now) + transfer.advance(to: now))
    }

    private mutating func follow(_ events: [Event]) throws {
        var rest = events[...]
        while var event = rest.popFirst(), appended.count < 500 {
            offset += 1
            event.offset = offset
            appended.append(event)
            rest += try deliver(event, \.lifecycle) + deliver(event, \.fetch)
            rest += try deliver(event, \.push) + deliver(event, \.transfer)
        }
    }

    private mutating func deliver<M: Machine>(_ event: Event, _ place: Place<M>) throws -> [Event] {
        do { return try self[keyPath: place].deliver(event) } catch let refusal as M.Refusal {
            guard let reason = refusal.unreadable else { return [] }
            throw DoorFault("\(M.name) can't read \(String(decoding: event.cloudEvent, as: UTF8.self)): \(reason)")
        }
    }

    /// The wake of the app; nil without one.
    var wake: String? { lifecycle.state(Self.key).apps[Self.app]?.wakes.keys.first }

    /// Returns the device's push token of a kind.
    func token(of kind: TokenKind) -> PushToken? {
        push.state(Self.key).apps[Self.app]?.token(of: kind).flatMap { PushToken($0.token) }
    }
}

/// A violated rule of accepted documents.
struct DoorFault: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension DoorSuite {
    /// Devices with much under way: an app on screen, one in the background, one that was woken for a task, one on the
    /// oldest generation. The first two come three times, because the others refuse most documents.
    static func devices() throws -> [DoorSuite] {
        let onScreen = try DoorSuite(.ios18)
        var inBackground = onScreen
        try inBackground.submit(.beginTask(app: app, TaskRequest(name: "t")), \.lifecycle)
        try inBackground.submit(.transition(app: app, .home), \.lifecycle)
        var woken = inBackground
        try woken.submit(.simulateTaskLaunch(app: app, identifier: "task"), \.fetch)
        let usual = [onScreen, inBackground]
        return usual + usual + usual + [woken, try DoorSuite(.ios6)]
    }

    private init(_ profile: ProfileName) throws {
        let app = Self.app
        try submit(.register(Registration(profile: profile)), \.lifecycle)
        var manifest = Manifest(backgroundModes: BackgroundMode.allCases, handlersReturn: .reported)
        manifest.notificationServiceExtension = true
        manifest.notificationAuthorization = .authorized
        manifest.permittedTaskIdentifiers = ["task"]
        try submit(.install(app: app, manifest), \.lifecycle)
        var settings = AppSettings()
        settings.locationAuthorization = .always
        try submit(.changeSettings(app: app, settings), \.lifecycle)
        try submit(.transition(app: app, .launch), \.lifecycle)
        try submit(.completeCallback(app: app, .didFinishLaunching, CallbackCompletion()), \.lifecycle)
        try submit(.startBluetooth(app: app, .central, BluetoothManager()), \.lifecycle)
        try? submit(.setInterval(app: app, .minimum), \.fetch)
        try? submit(.submitTask(app: app, BackgroundTaskRequest("task", .processing)), \.fetch)
        let generation = Generations.standard[profile]
        let channels = generation.has(.broadcastChannels) ? [Self.channel] : nil
        try submit(.register(app: app, .sandbox, channels: channels), \.push)
        try? submit(.register(app: app, .sandbox, kind: .voip), \.push)
        try? submit(.startActivity(app: app, activity: Self.activity, Self.activityRequest), \.push)
        try submit(.connect(connection: "c"), \.push)
        try submit(.receive(alert(Self.notification, ["alert": "x", "mutable-content": 1])), \.push)
        try? submit(.setCategories(app: app, [Self.category]), \.push)
        try submit(.receive(alert(Self.shownNotification, ["alert": "x", "category": "c"])), \.push)
        try? submit(.present(notification: Self.shownNotification, options: [.banner]), \.push)
        guard generation.has(.backgroundSessions) else { return }
        try submit(.openSession(app: app, session: Self.session, SessionConfiguration()), \.transfer)
        try submit(
            .download(app: app, session: Self.session, TransferRequest(url: "http://files.example/f")), \.transfer)
        try submit(.resume(Self.task), \.transfer)
        try submit(.startAttempt(Self.claim), \.transfer)
        guard generation.has(.earliestBeginDate) else { return }
        try submit(
            .openSession(app: app, session: "delayed", SessionConfiguration(handlesDelayedRequests: true)), \.transfer)
        let request = TransferRequest(earliestBeginDate: now + .milliseconds(100), url: "http://files.example/d")
        try submit(.download(app: app, session: "delayed", request), \.transfer)
        try submit(.resume(Self.delayedTask), \.transfer)
        while transfer.state(Self.key).task(Self.delayedTask)?.delayedRequest.isPending == false { try advance() }
    }

    private func alert(_ id: String, _ aps: JSON) -> IncomingPush {
        IncomingPush(
            token: token(of: .apns)?.description ?? "", app: Self.app, topic: Self.app, pushType: .alert,
            environment: .sandbox, apnsID: "a", notification: id, priority: 10, collapseID: nil, expiration: nil,
            neverStored: false, payload: ["aps": aps])
    }

    /// A notification whose service extension runs.
    static let notification = "n"
    /// A notification that the device shows, with the actions of ``category``.
    static let shownNotification = "s"
    private static let category = NotificationCategory(
        actions: [NotificationAction(identifier: "reply", textInput: true)], identifier: "c")
    static let task = TaskKey(app: app, session: session, task: 1)
    /// A task with a delayed request that waits for an answer.
    static let delayedTask = TaskKey(app: app, session: "delayed", task: 1)
    /// A Live Activity of the app.
    static let activity = "x"
    private static let activityRequest = LiveActivityRequest(
        attributesType: nil, channel: nil, contentState: [:], environment: nil, frequentUpdates: false, staleDate: nil)
    static let claim = AttemptClaim(task, epoch: 1, worker: "m")
}
