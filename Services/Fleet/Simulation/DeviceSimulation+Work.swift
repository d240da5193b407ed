import OrderedCollections
import Contracts
import FetchCore
import LifecycleCore
import PushCore
import Scenarios
import Timeline
import TransferCore

// Work that is due: the answers of the device and of the code of its apps.
extension DeviceSimulation {
    mutating func perform(_ work: Scheduled<Work>, _ context: inout PartitionContext) throws {
        if let app = work.app { return try perform(work.kind, of: app, &context) }
        switch work.kind {
        case .begin: try begin(&context)
        case .beginFault(let number): try beginFault(number, &context)
        case .endFault(let number): try endFault(number, &context)
        case .connect:
            isConnecting = false
            guard push.state.connection == nil, isReachable else { return }
            try submit(.connect(connection: "c-\(now.milliseconds)"), &context)
        case .acknowledge(let id): try submit(.acknowledge(notification: id), &context)
        case .modify(let id):
            guard push.state.messages[id]?.serviceExtension == .running else { return }
            try submit(.modify(notification: id, NotificationContent(body: "changed")), &context)
        case .present(let id):
            guard push.state.messages[id]?.willPresent == true else { return }
            try submit(.present(notification: id, options: [.banner, .list]), &context)
        case .openNotification(let id): try openNotification(id, &context)
        case .leave(let use):
            if use == uses { try goHome(&context) }
        case .lock: try lock(&context)
        case .receive(let push): try receive(push, &context)
        case .startUp, .askForNotifications, .completeWake, .completeCallback, .crash, .returnFromDownload,
            .startTransfer, .startActivity, .stopActivity, .submitContinuedTask, .continueTask:
            return
        }
    }

    private mutating func perform(_ kind: Work, of index: Int, _ context: inout PartitionContext) throws {
        let app = context.plan.scenario.apps[index]
        guard lifecycle.state.apps[app.id]?.state.isRunning == true else { return }
        switch kind {
        case .startUp: try startUp(index, app, &context)
        case .askForNotifications: try askForNotifications(app, &context)
        case .completeWake(let wake, let reason, let result, let bytes):
            try complete(wake, reason, result, bytes, of: app, &context)
        case .completeCallback(let callback):
            try submit(.completeCallback(app: app.id, callback, CallbackCompletion()), &context)
        case .crash: try submit(.transition(app: app.id, .crash), &context)
        case .returnFromDownload(let session, let task):
            try submit(.returnFromCallback(app: app.id, session: session, task: task), &context)
        case .startTransfer(let plan): try startTransfer(plan, app, &context)
        case .startActivity: try startActivity(index, app, &context)
        case .stopActivity: try stopActivity(app, &context)
        case .submitContinuedTask: try submitContinuedTask(app, &context)
        case .continueTask(let wake, let part, let parts):
            try continueTask(wake, part, of: parts, app, &context)
        case .begin, .beginFault, .endFault, .connect, .acknowledge, .modify, .present, .openNotification, .leave,
            .lock, .receive:
            return
        }
    }

    /// Whether the device has power and a network.
    var isReachable: Bool { push.state.conditions.poweredOn && push.state.conditions.network != .none }

    /// The code of an app after its launch: it registers for pushes, and asks for refreshes.
    private mutating func startUp(_ index: Int, _ app: ScenarioApp, _ context: inout PartitionContext) throws {
        if apps[index].token == nil { try submit(.register(app: app.id, .production), &context) }
        if app.backgroundModes.contains(.voip), apps[index].voipToken == nil, profile.has(.voipPushes) {
            try submit(.register(app: app.id, .production, kind: .voip), &context)
        }
        if app.backgroundModes.contains(.fetch), fetch.state.apps[app.id]?.fetches(on: profile) == true {
            let interval = app.fetchInterval ?? .minimum
            if fetch.state.apps[app.id]?.interval != interval {
                try submit(.setInterval(app: app.id, interval), &context)
            }
        }
        try submitTasks(of: app, &context)
        try awaitEvents(app, &context)
        try joinChannel(index, app, &context)
    }

    /// Submits a request for each permitted task that has none: the first for a refresh if the app has the mode
    /// `fetch`, the others for processing.
    private mutating func submitTasks(of app: ScenarioApp, _ context: inout PartitionContext) throws {
        guard profile.has(.backgroundTaskScheduler) else { return }
        for (number, identifier) in app.permittedTaskIdentifiers.enumerated() {
            let kind: TaskRequestKind = number == 0 && app.backgroundModes.contains(.fetch) ? .refresh : .processing
            let isPending = fetch.state.apps[app.id]?.tasks[identifier] != nil
            let mode: BackgroundMode = kind == .refresh ? .fetch : .processing
            guard !isPending, !identifier.hasSuffix("*"), app.backgroundModes.contains(mode) else { continue }
            try submit(.submitTask(app: app.id, BackgroundTaskRequest(identifier, kind)), &context)
        }
    }

    private mutating func complete(
        _ wake: String, _ reason: WakeReason, _ result: HandlerResult, _ bytes: Int, of app: ScenarioApp,
        _ context: inout PartitionContext
    ) throws {
        guard lifecycle.state.apps[app.id]?.wakes[wake] != nil else { return }
        if result == .crashes {
            try submit(.transition(app: app.id, .crash), &context)
            return
        }
        if reason == .task { try submitTasks(of: app, &context) }
        if reason == .voip, profile.has(.callReporting) {
            try submit(.startActivity(app: app.id, .voip, ActivityRequest()), &context)
            try submit(.stopActivity(app: app.id, .voip), &context)
        }
        var completion = result.completion(of: reason)
        let loaded = network.word == .none ? 0 : bytes
        if loaded > 0 {
            completion.bytesReceived = loaded
            context.figures.addBytes(loaded, in: network.network)
        }
        try submit(.completeWake(app: app.id, wake: wake, completion), &context)
    }

    private mutating func openNotification(_ id: String, _ context: inout PartitionContext) throws {
        guard lifecycle.state.isPoweredOn, push.state.shown.contains(where: { $0.id == id }) else { return }
        if lifecycle.state.conditions.locked == true {
            var report = ConditionsReport()
            report.locked = false
            try submit(.updateConditions(report), &context)
            try settle(&context)
        }
        guard try submit(.open(notification: id), &context) == nil else { return }
        uses += 1
        var random = draw(.answers, context)
        let stay = context.plan.scenario.people[device.group].habits.stay.drawn(&random)
        schedule(.leave(use: uses), after: stay)
    }
}
