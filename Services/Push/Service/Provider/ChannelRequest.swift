import Contracts
import Foundation
import PushCore
import Records

/// A provider's request about the channels of an app. Validation order: method and path, (authentication), request id,
/// app, feature, then the rules of each action.
///
/// Sources: Apple, "Sending channel management requests to APNs", "Sending broadcast push notification requests to
/// APNs" and "Handling error responses from Apple Push Notification service". The order is our choice.
struct ChannelRequest: Sendable, Equatable {
    enum Action: Sendable, Equatable { case create, read, delete, list, broadcast }

    var action: Action
    /// The bundle identifier in the path.
    var app: String

    /// Returns whether a path belongs to the channel API, whose answers have `apns-request-id`.
    static func isMeant(by path: String) -> Bool { path.hasPrefix("/1/") || path.hasPrefix("/4/") }

    init(_ request: ProviderRequest) throws(APNsReason) {
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
        let actions: [String: Action]
        switch (parts.count, parts.first, parts.last) {
        case (4, "1", "channels") where parts[1] == "apps":
            actions = ["POST": .create, "GET": .read, "DELETE": .delete]
            app = parts[2]
        case (4, "1", "all-channels") where parts[1] == "apps":
            actions = ["GET": .list]
            app = parts[2]
        case (4, "4", _) where parts[1] == "broadcasts" && parts[2] == "apps":
            actions = ["POST": .broadcast]
            app = parts[3]
        default: throw .badPath
        }
        guard isIdentifier(app) else { throw .badPath }
        guard let action = actions[request.method] else { throw .methodNotAllowed }
        self.action = action
    }

    /// Returns the `apns-request-id` of the request, or a new one without the header.
    ///
    /// - Throws: `BadMessageId` if it is not a lower-case UUID. The answer then has a new one.
    static func requestID(_ request: ProviderRequest) throws(APNsReason) -> String {
        guard let text = request.header("apns-request-id") else { return UUID.ascending().lowercased }
        guard let uuid = UUID(uuidString: text), uuid.lowercased == text else { throw .badMessageID }
        return text
    }

    /// Refuses an app that the credential or the deployment does not allow.
    func requireApp(of grant: ProviderGrant, _ feature: BroadcastFeature) throws(APNsReason) {
        let suffixes = PushType.allCases.map(\.topicSuffix).filter { !$0.isEmpty }
        // Apple: "Ensure that no push type suffix is added to the bundle ID."
        guard !suffixes.contains(where: { app.hasSuffix($0) }) else { throw .topicDisallowed }
        let topic = app + PushType.liveactivity.topicSuffix
        guard grant.allows(topic, of: app) else { throw .topicMismatch }
        guard feature.isEnabled(app) else { throw .featureNotEnabled }
    }

    static func channel(_ request: ProviderRequest) throws(APNsReason) -> ChannelID {
        guard let text = request.header("apns-channel-id"), !text.isEmpty else { throw .missingChannelID }
        guard let channel = ChannelID(text) else { throw .badChannelID }
        return channel
    }
}

/// The configuration of a channel, which never changes.
struct ChannelConfiguration: Sendable, Equatable {
    /// `message-storage-policy` 1: the most recent message is stored.
    var stores: Bool

    init(stores: Bool) { self.stores = stores }

    /// Parses the body of a request that creates a channel.
    init(_ body: [UInt8]?) throws(APNsReason) {
        guard let body else { throw .payloadTooLarge }
        guard let members = (try? JSON(received: body))?.members else { throw .badRequestPayload }
        var policy: Int?
        var pushType: JSON?
        for member in members {
            switch member.name {
            case "message-storage-policy": policy = member.value.int
            case "push-type": pushType = member.value
            default: throw .badRequestParams
            }
        }
        guard let policy, 0...1 ~= policy else { throw .badRequestParams }
        guard let pushType else { throw .missingPushType }
        guard pushType.string == "LiveActivity" else { throw .invalidPushType }
        stores = policy == 1
    }

    var json: JSON { ["message-storage-policy": .int(stores ? 1 : 0), "push-type": "LiveActivity"] }
}

/// The apps that may broadcast. At Apple, developers enable the feature for each app ("Setting up broadcast push
/// notifications"). Here all apps may broadcast, unless a deployment names some. Our choice.
struct BroadcastFeature: Sendable, Equatable {
    private var isForAll = true
    private var apps: Set<String> = []

    static let all = BroadcastFeature()

    private init() {}

    /// Parses `all`, `none`, or bundle identifiers separated by commas; nil for anything else.
    init?(_ text: String) {
        guard text != "all" else { return }
        isForAll = false
        guard text != "none" else { return }
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard names.allSatisfy({ isIdentifier($0) }) else { return nil }
        apps = Set(names)
    }

    func isEnabled(_ app: String) -> Bool { isForAll || apps.contains(app) }
}
