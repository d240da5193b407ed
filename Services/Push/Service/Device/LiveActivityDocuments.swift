import Contracts
import PushCore
import Records
import Timeline

/// A Live Activity that an app requests: `Activity.request(attributes:content:pushType:)`.
struct LiveActivityStartDocument: Record {
    /// The name of its `ActivityAttributes`.
    var attributesType: String?
    /// The broadcast channel of its updates: `PushType.channel(_:)`.
    var channel: String?
    /// Its first `ContentState`, an object of at most 4096 bytes.
    var contentState = JSON.null
    /// The environment of its push token (`PushType.token`) and of its channel; nil for an activity without a token. Its
    /// channel then has the environment of the app's token of the kind `apns`, or is in the sandbox.
    var environment: PushEnvironment?
    /// Whether the app has `NSSupportsLiveActivitiesFrequentUpdates`, and the user allows frequent updates.
    var frequentUpdates: Defaulted<Bool> = false
    /// The suite time at which the content becomes stale.
    var staleDate: Instant?

    enum Constraints {
        static let attributesType: Constraint<String> = .text(1...128)
        static let channel: Constraint<String> = .channel
        static let contentState: Constraint<JSON> = .contentState
    }

    var request: LiveActivityRequest {
        LiveActivityRequest(
            attributesType: attributesType, channel: channel, contentState: contentState, environment: environment,
            frequentUpdates: frequentUpdates, staleDate: staleDate)
    }
}

/// New content of a Live Activity: `Activity.update(_:)`.
struct LiveActivityUpdateDocument: Record {
    /// An object of at most 4096 bytes.
    var contentState = JSON.null
    var staleDate: Instant?

    enum Constraints {
        static let contentState: Constraint<JSON> = .contentState
    }
}

/// The end of a Live Activity: `Activity.end(_:dismissalPolicy:)`.
struct LiveActivityEndDocument: Record {
    /// The final content; nil keeps the current one.
    var contentState: JSON?
    /// The suite time at which the system removes it, at most four hours after its end; nil for four hours.
    var dismissalDate: Instant?

    enum Constraints {
        static let contentState: Constraint<JSON> = .contentState
    }
}

extension Constraint where T == String {
    fileprivate static var channel: Constraint<String> {
        Constraint("must be a channel id: 16 bytes in Base64") { ChannelID($0)?.isComplete ?? false }
    }
}

extension Constraint where T == JSON {
    fileprivate static var contentState: Constraint<JSON> {
        Constraint("must be an object", keywords: [("type", "object")]) { $0.members != nil }
    }
}

/// A Live Activity of an app.
struct LiveActivityDocument: Record {
    var activity = ""
    var attributesType: String?
    var channel: String?
    var contentState = JSON.null
    /// The time at which the system removes it from the Lock Screen; nil while it has not ended.
    var dismissalDate: Instant?
    var frequentUpdates = false
    var staleDate: Instant?
    var startedAt = Instant.epoch
    var state = LiveActivity.State.active
    /// The newest `timestamp` of its pushes, in seconds of the provider's clock; 0 before the first one.
    var timestamp = 0
    /// Its push token; nil if it has none.
    var token: String?

    init(_ activity: String, _ live: LiveActivity, of app: PushedApp) {
        self.activity = activity
        attributesType = live.attributesType
        channel = live.channel
        contentState = live.contentState
        dismissalDate = live.dismissalDate
        frequentUpdates = live.frequentUpdates
        staleDate = live.staleDate
        startedAt = live.startedAt
        state = live.state
        timestamp = live.timestamp
        token = app.token(of: .liveactivity, activity: activity)?.token
    }
}

/// The Live Activities of an app, in the order of their start.
struct LiveActivityList: Record {
    var items: [LiveActivityDocument] = []

    init(_ app: PushedApp) { items = app.liveActivities.map { LiveActivityDocument($0.key, $0.value, of: app) } }
}
