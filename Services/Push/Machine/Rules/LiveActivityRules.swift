import Contracts
import Machines
import OrderedCollections
import Records
import Timeline

// Live Activities: the calls of their app, the pushes of the provider, and the limits of the system.
extension Decision<PushMachine> {
    /// Starts a Live Activity. Apple, `Activity`: "you can only start a Live Activity while the app is in the
    /// foreground".
    mutating func start(_ activity: String, of app: String, _ request: LiveActivityRequest) throws(PushRefusal) {
        let record = try running(app)
        try require(.liveActivities)
        if request.channel != nil { try require(.broadcastChannels) }
        guard record.foreground else { throw .appNotOnScreen }
        guard record.liveActivities[activity] == nil else { throw .activityExists(activity) }
        try requireSize(of: request.contentState)
        guard state.liveActivityCount < policy.liveActivities else { throw .tooManyActivities(policy.liveActivities) }
        guard state.hasRoomForActivity(policy) else { throw .noRoomForActivity }
        let environment = request.environment ?? request.channel.map { _ in record.channelEnvironment }
        emit(
            .liveActivityStarted(
                .init(
                    activity: activity, alerts: false, app: app, attributesType: request.attributesType,
                    channel: request.channel, contentState: request.contentState, environment: environment,
                    frequentUpdates: request.frequentUpdates, staleDate: request.staleDate)))
        if let environment = request.environment { giveToken(.liveactivity, activity, environment, to: app) }
        makeRoom()
    }

    mutating func update(
        _ activity: String, of app: String, _ contentState: JSON, staleDate: Instant?
    ) throws(PushRefusal) {
        _ = try open(activity, of: app)
        try requireSize(of: contentState)
        emit(
            .liveActivityUpdated(
                .init(
                    activity: activity, alerts: false, app: app, contentState: contentState, staleDate: staleDate)))
    }

    /// Ends a Live Activity (Apple, `ActivityUIDismissalPolicy`: it is removed at the date, or four hours after its end).
    mutating func end(
        _ activity: String, of app: String, _ contentState: JSON?, dismissalDate: Instant?
    ) throws(PushRefusal) {
        _ = try open(activity, of: app)
        if let contentState { try requireSize(of: contentState) }
        end(activity, of: app, .app, contentState, dismissalDate: dismissalDate)
    }

    /// Removes a Live Activity, as a user who swipes it away.
    mutating func dismiss(_ activity: String, of app: String) throws(PushRefusal) {
        guard state.conditions.poweredOn else { throw .deviceOff }
        guard let record = state.apps[app] else { throw .appNotInstalled(app) }
        try require(.liveActivities)
        guard record.liveActivities[activity] != nil else { throw .activityNotRunning(activity) }
        dismiss(activity, of: app, .user)
    }

    /// Returns why a device ignores a push for a Live Activity; nil if it takes it.
    func obstacle(to message: PushMessage) -> ConsoleStatus? {
        guard message.pushType == .liveactivity, let record = state.apps[message.app] else { return nil }
        if let channel = message.channel {
            // A broadcast without an activity of its channel is for the app alone.
            let audience = record.liveActivities.values.filter { $0.channel == channel }
            guard !audience.isEmpty else { return nil }
            guard let push = LiveActivityPush(message.payload), push.event != .start else { return .discardedMalformed }
            let obstacles = audience.map { obstacle(to: push, $0) }
            return obstacles.contains(nil) ? nil : obstacles[0]
        }
        guard let push = LiveActivityPush(message.payload) else { return .discardedMalformed }
        guard message.kind == .liveactivity else {
            guard push.event == .start else { return .discardedMalformed }
            let isFull = state.liveActivityCount >= policy.liveActivities || !state.hasRoomForActivity(policy)
            return isFull ? .discardedTooManyActivities : nil
        }
        guard push.event != .start else { return .discardedMalformed }
        return message.activity.flatMap { record.liveActivities[$0] }.flatMap { obstacle(to: push, $0) }
    }

    private func obstacle(to push: LiveActivityPush, _ activity: LiveActivity) -> ConsoleStatus? {
        guard activity.state != .ended else { return .discardedActivityEnded }
        return push.timestamp < activity.timestamp ? .discardedOutdated : nil
    }

    /// Whether the budget forbids to send a push now.
    func isOverBudget(_ message: PushMessage) -> Bool { payer(of: message).map { $0.available(policy) > now } ?? false }

    /// Returns when the budget of its Live Activity is full again after a delivery; nil if it costs nothing.
    func fullAt(after message: PushMessage) -> Instant? { payer(of: message)?.afterSpending(at: now, policy) }

    /// Returns the Live Activity whose budget a delivery is charged to. Priority 5, broadcasts and repeated deliveries
    /// cost nothing.
    private func payer(of message: PushMessage) -> LiveActivity? {
        guard message.kind == .liveactivity, message.priority == 10, !message.charged else { return nil }
        return message.activity.flatMap { state.apps[message.app]?.liveActivities[$0] }
    }

    /// Applies an acknowledged push that has no ``obstacle(to:)``.
    mutating func take(_ id: String, _ message: PushMessage) {
        guard message.pushType == .liveactivity, let push = LiveActivityPush(message.payload) else { return }
        if message.kind == .pushToStart { return start(push, id, message) }
        let record = state.apps[message.app]
        let named = message.activity.map { [$0] } ?? []
        let audience =
            message.channel.map { channel in
                record?.liveActivities.filter { $0.value.channel == channel }.map(\.key) ?? []
            } ?? named
        for activity in audience { take(push, id, message, activity) }
    }

    private mutating func take(_ push: LiveActivityPush, _ id: String, _ message: PushMessage, _ activity: String) {
        guard let current = state.apps[message.app]?.liveActivities[activity], obstacle(to: push, current) == nil else {
            return
        }
        if push.event == .end {
            return end(
                activity, of: message.app, .push, push.contentState,
                dismissalDate: push.date("dismissal-date", at: now), alerts: push.alerts, notification: id,
                timestamp: push.timestamp)
        }
        emit(
            .liveActivityUpdated(
                .init(
                    activity: activity, alerts: push.alerts, app: message.app,
                    contentState: push.contentState ?? .null, notification: id,
                    staleDate: push.date("stale-date", at: now), timestamp: push.timestamp)))
    }

    /// Starts a Live Activity by a push. The system gives its app the token for updates, or subscribes it to the channel
    /// of the push (Apple, `PushType`: "You can only specify one PushType").
    private mutating func start(_ push: LiveActivityPush, _ id: String, _ message: PushMessage) {
        let activity = identifier()
        let environment = state.apps[message.app]?.token(of: .pushToStart)?.environment
        let channel = profile.has(.broadcastChannels) ? push.channel : nil
        emit(
            .liveActivityStarted(
                .init(
                    activity: activity, alerts: push.alerts, app: message.app, attributesType: push.attributesType,
                    channel: channel, contentState: push.contentState ?? .null, environment: environment,
                    frequentUpdates: false,
                    notification: id,
                    staleDate: push.date("stale-date", at: now), timestamp: push.timestamp)))
        if channel == nil, let environment { giveToken(.liveactivity, activity, environment, to: message.app) }
        makeRoom()
    }

    /// Makes contents stale, and ends and dismisses activities, when their time has come.
    mutating func ageActivities() {
        for (app, record) in state.apps {
            for (id, activity) in record.liveActivities {
                guard let due = activity.due, due <= now else { continue }
                if activity.state == .ended {
                    dismiss(id, of: app, .system)
                } else if activity.startedAt + LiveActivity.activeTime <= now {
                    end(id, of: app, .system, nil, dismissalDate: nil)
                } else {
                    emit(.liveActivityStale(.init(activity: id, app: app)))
                }
            }
        }
    }

    private mutating func end(
        _ activity: String, of app: String, _ cause: LiveActivityCause, _ contentState: JSON?,
        dismissalDate: Instant?, alerts: Bool = false, notification: String? = nil, timestamp: Int? = nil
    ) {
        let latest = now + LiveActivity.lockScreenTime
        let date = max(now, min(dismissalDate ?? latest, latest))
        emit(
            .liveActivityEnded(
                .init(
                    activity: activity, alerts: alerts, app: app, cause: cause, contentState: contentState,
                    dismissalDate: date, notification: notification, timestamp: timestamp)))
        if date <= now { dismiss(activity, of: app, .system) }
    }

    private mutating func dismiss(_ activity: String, of app: String, _ cause: LiveActivityCause) {
        emit(.liveActivityDismissed(.init(activity: activity, app: app, cause: cause)))
        if let token = state.apps[app]?.token(of: .liveactivity, activity: activity) {
            retire(app, token, .activityDismissed)
        }
    }

    /// Returns a running app's activity that has not ended.
    private func open(_ activity: String, of app: String) throws(PushRefusal) -> LiveActivity {
        let found = try running(app).liveActivities[activity]
        try require(.liveActivities)
        guard let found, found.state != .ended else { throw .activityNotRunning(activity) }
        return found
    }

    private func requireSize(of contentState: JSON) throws(PushRefusal) {
        guard contentState.bytes.count <= LiveActivity.contentBytes else { throw .contentTooLarge }
    }
}

extension PushMachine {
    /// The number of Live Activities of all apps, with ended ones.
    var liveActivityCount: Int { apps.values.reduce(0) { $0 + $1.liveActivities.count } }

    /// Whether the state can keep another Live Activity with the largest content.
    func hasRoomForActivity(_ policy: PushPolicy) -> Bool {
        standingCost + LiveActivity.contentBytes <= policy.stateBytes
    }
}
