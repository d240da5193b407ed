import Contracts
import Records
import Scenarios
import Timeline

// Work that is due: the answers of the device and of the code of its apps.
extension ScenarioDevice {
    func perform(_ work: Scheduled<ScenarioWork>) async throws(CancellationError) {
        if let app = work.app { return try await perform(work.kind, of: app) }
        switch work.kind {
        case .beginFault(let number): try await beginFault(number)
        case .endFault(let number): try await endFault(number)
        case .connect: try await connect()
        case .acknowledge(let id): try await acknowledge(id)
        case .modify(let id): try await modify(id)
        case .present(let id): try await present(id)
        case .openNotification(let id, let app): try await openNotification(id, of: app)
        case .leave(let use): if use == uses { try await goHome() }
        case .lock: try await lock()
        case .send(let push): try await deliver(push, isCopy: false)
        case .sendCopy(let push): try await deliver(push, isCopy: true)
        case .startUp, .completeWake, .completeCallback, .returnFromDownload, .answerChallenge, .startTransfer,
            .startActivity, .stopActivity, .askForNotifications, .submitContinuedTask, .continueTask:
            return
        }
    }

    private func perform(_ kind: ScenarioWork, of index: Int) async throws(CancellationError) {
        let app = scenario.apps[index]
        switch kind {
        case .startUp: try await startUp(index, app)
        case .completeWake(let wake, let reason, let result, let bytes):
            try await complete(wake, reason, result, bytes, of: app)
        case .completeCallback(let callback):
            try await call(
                .lifecycle, "POST", "/apps/{app}/callbacks/{callback}/completion", [app.id, callback], [:])
        case .returnFromDownload(let session):
            try await call(
                .transfer, "POST", "/apps/{app}/sessions/{session}/callbacks/{callback}/completion",
                [app.id, session, "didFinishDownloadingTo"], [:])
        case .answerChallenge(let challenge):
            try await call(
                .transfer, "POST", "/apps/{app}/challenges/{challenge}", [app.id, challenge],
                ["disposition": "performDefaultHandling"])
        case .startTransfer(let plan): try await startTransfer(plan, app)
        case .startActivity: try await startActivity(index, app)
        case .stopActivity: try await stopActivity(index, app)
        case .askForNotifications: try await askForNotifications(index, app)
        case .submitContinuedTask: try await submitContinuedTask(app)
        case .continueTask(let wake, let part, let parts): try await continueTask(wake, part, of: parts, app)
        case .beginFault, .endFault, .connect, .acknowledge, .modify, .present, .openNotification, .leave, .lock,
            .send, .sendCopy:
            return
        }
    }

    /// The code of an app after its launch: it registers for pushes, asks for refreshes and waits for its events.
    private func startUp(_ index: Int, _ app: ScenarioApp) async throws(CancellationError) {
        guard let state = try await state(of: app.id), state.isRunning else { return }
        if apps[index].tokens[.apns] == nil { try await register(.apns, of: index) }
        if app.backgroundModes.contains(.voip), apps[index].tokens[.voip] == nil, profile.has(.voipPushes) {
            try await register(.voip, of: index)
        }
        if app.fetches(on: profile) {
            let interval = app.fetchInterval ?? .minimum
            if apps[index].interval != interval,
                try await call(
                    .fetch, "PUT", "/apps/{app}/minimum-interval", [app.id], ["interval": interval.document]) != nil
            {
                apps[index].interval = interval
            }
        }
        try await submitTasks(of: app)
        try await awaitEvents(index, app)
        if app.backgroundModes.contains(.pushToTalk), apps[index].tokens[.pushtotalk] == nil, profile.has(.pushToTalk) {
            try await register(.pushtotalk, of: index)
        }
    }

    /// Submits a request for each permitted task that has none: the first for a refresh if the app has the mode
    /// `fetch`, the others for processing.
    private func submitTasks(of app: ScenarioApp) async throws(CancellationError) {
        guard profile.has(.backgroundTaskScheduler), !app.permittedTaskIdentifiers.isEmpty else { return }
        let route = "/apps/{app}/task-requests"
        let pending = try await call(.fetch, "GET", route, [app.id])?["items"]?.items ?? []
        let names = Set(pending.compactMap { $0["identifier"]?.string })
        for (number, identifier) in app.permittedTaskIdentifiers.enumerated() where !names.contains(identifier) {
            let kind: TaskRequestKind = number == 0 && app.backgroundModes.contains(.fetch) ? .refresh : .processing
            guard app.backgroundModes.contains(kind == .refresh ? .fetch : .processing) else { continue }
            try await call(.fetch, "POST", route, [app.id], BackgroundTaskRequest(identifier, kind).document)
        }
    }

    private func complete(
        _ wake: String, _ reason: WakeReason, _ result: HandlerResult, _ bytes: Int, of app: ScenarioApp
    ) async throws(CancellationError) {
        guard result != .crashes else { return try await transition(app.id, "crash") }
        if reason == .task { try await submitTasks(of: app) }
        if reason == .voip, profile.has(.callReporting) {
            try await call(.lifecycle, "POST", "/apps/{app}/activities/{kind}", [app.id, "voip"], [:])
            try await call(.lifecycle, "DELETE", "/apps/{app}/activities/{kind}", [app.id, "voip"])
        }
        var completion = result.completion(of: reason)
        let loaded = network.word == .none ? 0 : bytes
        if loaded > 0 { completion.bytesReceived = loaded }
        let route = "/apps/{app}/wakes/{wake}/completion"
        guard try await call(.lifecycle, "POST", route, [app.id, wake], completion.document) != nil else { return }
        if loaded > 0 { world.recorder.loaded(loaded, in: network) }
    }
}

extension ScenarioApp {
    /// Whether minimum background fetch intervals have an effect (see `ScheduledApp` in `fetch`).
    fileprivate func fetches(on profile: Profile) -> Bool {
        guard backgroundModes.contains(.fetch), profile.has(.backgroundFetch) else { return false }
        return !profile.has(.backgroundTaskScheduler) || permittedTaskIdentifiers.isEmpty
    }
}

extension FetchInterval {
    /// The member `interval` of the request.
    fileprivate var document: JSON {
        switch self {
        case .never: "never"
        case .minimum: "minimum"
        case .atLeast(let interval): .double(interval.seconds)
        }
    }
}
