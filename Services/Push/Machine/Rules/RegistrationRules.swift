import Contracts
import Machines
import OrderedCollections
import Timeline

// Device tokens, active and inactive.
extension Decision<PushMachine> {
    /// Registers an app. It keeps its token, unless the environment changes.
    mutating func register(_ app: String, _ environment: PushEnvironment) throws(PushRefusal) {
        let record = try installed(app)
        if let registration = record.registration {
            guard registration.environment != environment else { return }
            retire(app, .environmentChanged)
        }
        let token = PushToken(key, partitions: policy.partitions, random: (randomNumber(), randomNumber()))
        emit(.tokenRegistered(.init(app: app, environment: environment, token: token.description)))
    }

    mutating func unregister(_ app: String) throws(PushRefusal) {
        guard try installed(app).registration != nil else { throw .notRegistered(app) }
        retire(app, .unregistered)
    }

    /// Invalidates the token of an app and discards its unsettled notifications.
    mutating func retire(_ app: String, _ cause: TokenEnd) {
        guard let registration = state.apps[app]?.registration else { return }
        for (id, message) in state.messages where message.app == app {
            discard(id, .discardedUnregistered)
        }
        emit(
            .tokenUnregistered(
                .init(app: app, cause: cause, environment: registration.environment, token: registration.token)))
    }

    func installed(_ app: String) throws(PushRefusal) -> PushedApp {
        guard let record = state.apps[app] else { throw .appNotInstalled(app) }
        return record
    }

    /// Returns the app of a token.
    func owner(of push: IncomingPush) throws(PushRefusal) -> String {
        let app = state.apps.elements.first { $0.value.registration?.token == push.token }
        if let app, app.value.registration?.environment == push.environment {
            guard app.key == push.app else { throw .deviceTokenNotForTopic }
            return app.key
        }
        let retired = state.retired.last { $0.token == push.token && $0.environment == push.environment }
        guard let retired else { throw .badDeviceToken }
        guard retired.app == push.app else { throw .deviceTokenNotForTopic }
        guard now - retired.at < policy.tokenExpiry else { throw .expiredToken(since: retired.at) }
        throw .unregistered(since: retired.at)
    }
}
