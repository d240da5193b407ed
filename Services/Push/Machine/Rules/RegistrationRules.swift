import Contracts
import Machines
import OrderedCollections
import Timeline

// Device tokens, active and inactive.
extension Decision<PushMachine> {
    /// Registers an app. It keeps its token, unless the environment changes. The app's code registers (Apple,
    /// `registerForRemoteNotifications()`, `PKPushRegistry` and `Activity`), so the app must run.
    mutating func register(
        _ app: String, _ environment: PushEnvironment, _ kind: TokenKind, _ activity: String?, _ channels: [String]?
    ) throws(PushRefusal) {
        let record = try running(app)
        if let feature = kind.feature { try require(feature) }
        guard activity != nil || kind != .liveactivity else { throw .activityMissing }
        guard activity == nil || kind == .liveactivity else { throw .activityUnexpected(kind) }
        guard channels == nil || kind == .apns else { throw .channelsUnexpected(kind) }
        if let current = record.token(of: kind, activity: activity) {
            guard current.environment != environment else { return subscribe(app, to: channels) }
            retire(app, current, .environmentChanged)
        } else if let activity, record.liveActivities[activity] == nil {
            throw .activityNotRunning(activity)
        }
        giveToken(kind, activity, environment, to: app)
        subscribe(app, to: channels)
    }

    /// Gives an app a new token.
    mutating func giveToken(
        _ kind: TokenKind, _ activity: String?, _ environment: PushEnvironment, to app: String
    ) {
        let token = PushToken(key, partitions: policy.partitions, random: (randomNumber(), randomNumber()))
        emit(
            .tokenRegistered(
                .init(activity: activity, app: app, environment: environment, kind: kind, token: token.description)))
    }

    /// Invalidates a token. The app's code does it (Apple, `unregisterForRemoteNotifications()`).
    mutating func unregister(_ app: String, _ kind: TokenKind, _ activity: String?) throws(PushRefusal) {
        guard let token = try running(app).token(of: kind, activity: activity) else { throw .notRegistered(app) }
        retire(app, token, .unregistered)
    }

    /// Invalidates all tokens of an app, and discards its unsettled broadcasts.
    mutating func retire(_ app: String, _ cause: TokenEnd) {
        for token in state.apps[app]?.tokens ?? [] { retire(app, token, cause) }
        for (id, message) in state.messages where message.app == app { discard(id, .discardedUnregistered) }
    }

    /// Invalidates a token and discards the unsettled notifications that were sent to it. Shown ones end with the token.
    /// Broadcasts for Live Activities need no token.
    mutating func retire(_ app: String, _ token: TokenRegistration, _ cause: TokenEnd) {
        for (id, message) in state.messages
        where message.app == app && message.kind == token.kind && message.activity == token.activity
            && !state.shows(id) && !isForActivity(message)
        {
            discard(id, .discardedUnregistered)
        }
        emit(
            .tokenUnregistered(
                .init(
                    activity: token.activity, app: app, cause: cause, environment: token.environment, kind: token.kind,
                    token: token.token)))
    }

    /// Whether a message is a broadcast for a Live Activity.
    private func isForActivity(_ message: PushMessage) -> Bool {
        guard let channel = message.channel else { return false }
        return state.apps[message.app]?.liveActivities.values.contains { $0.channel == channel } ?? false
    }

    /// Returns the app if its code runs. Calls that represent code of the app need this.
    func running(_ app: String) throws(PushRefusal) -> PushedApp {
        guard let record = state.apps[app] else { throw .appNotInstalled(app) }
        guard record.state.isRunning else { throw .appNotRunning(record.state) }
        return record
    }

    /// Returns the app of a token, and the token.
    ///
    /// APNs refuses a token that does not match the topic (Apple, "Handling notification responses from APNs":
    /// `DeviceTokenNotForTopic`). The topic contains the push type, so the kind of the token must fit.
    func owner(of push: IncomingPush) throws(PushRefusal) -> (app: String, token: TokenRegistration) {
        for (app, record) in state.apps {
            guard let token = record.tokens.first(where: { $0.token == push.token }) else { continue }
            guard token.environment == push.environment else { break }
            guard app == push.app, token.kind.accepts(push.pushType) else { throw .deviceTokenNotForTopic }
            return (app, token)
        }
        let retired = state.retired.last { $0.token == push.token && $0.environment == push.environment }
        guard let retired else { throw .badDeviceToken }
        guard retired.app == push.app, retired.kind.accepts(push.pushType) else { throw .deviceTokenNotForTopic }
        guard now - retired.at < policy.tokenExpiry else { throw .expiredToken(since: retired.at) }
        throw .unregistered(since: retired.at)
    }
}
