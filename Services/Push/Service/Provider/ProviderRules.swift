import Contracts
import Foundation
import PushCore
import Records
import Timeline

/// Validates a provider's request in this order: method and path, (authentication), id, expiration, priority, collapse
/// id, push type, topic, payload, token.
///
/// Source: Apple, "Sending notification requests to APNs". The order is our choice.
struct ProviderRules: Sendable {
    /// The validated headers and payload.
    struct Draft: Sendable, Equatable {
        var apnsID: String
        /// Seconds of real time since 1970; nil without the header.
        var expiration: Int64?
        var priority: Int
        var collapseID: String?
        var pushType: PushType
        var topic: String
        /// The topic without the suffix of its type.
        var app: String
        var payload: JSON

        /// Returns the notification that the device receives.
        ///
        /// - Parameter expiration: in suite time.
        func push(
            as notification: String, to token: PushToken, in environment: PushEnvironment, expiration: Instant?
        ) -> IncomingPush {
            IncomingPush(
                token: token.description, app: app, topic: topic, pushType: pushType, environment: environment,
                apnsID: apnsID, notification: notification, priority: priority, collapseID: collapseID,
                expiration: expiration, neverStored: self.expiration == 0, payload: payload)
        }
    }

    /// Converts an expiration from real time, which providers use, to suite time. The distance to now stays the same.
    ///
    /// - Parameters:
    ///   - seconds: seconds of real time since 1970.
    ///   - now: the suite time at the real time `real`.
    static func suiteTime(ofExpiration seconds: Int64?, at now: Instant, real: Instant) -> Instant? {
        guard let seconds, seconds > 0 else { return nil }
        let latest = real + .days(31)
        let expiration = Instant(milliseconds: min(seconds, latest.milliseconds / 1000) * 1000)
        return now + (expiration - real)
    }

    /// Returns the device token in the path.
    static func token(_ request: ProviderRequest) throws(APNsReason) -> String {
        let prefix = "/3/device"
        guard request.path.hasPrefix(prefix) else { throw .badPath }
        let rest = request.path.utf8.dropFirst(prefix.utf8.count)
        guard rest.first ?? UInt8(ascii: "/") == UInt8(ascii: "/") else { throw .badPath }
        let token = rest.dropFirst()
        guard !token.contains(UInt8(ascii: "/")) else { throw .badPath }
        guard request.method == "POST" else { throw .methodNotAllowed }
        guard !token.isEmpty else { throw .missingDeviceToken }
        return String(Substring(token))
    }

    /// Refuses repeated `apns-*` and `authorization` headers.
    static func requireSingleHeaders(_ request: ProviderRequest) throws(APNsReason) {
        var seen: Set<String> = []
        for header in request.headers where header.name.hasPrefix("apns-") || header.name == "authorization" {
            guard seen.insert(header.name).inserted else { throw .duplicateHeaders }
        }
    }

    /// Returns the `apns-id` of the request, or a new one without the header.
    ///
    /// - Throws: `BadMessageId` if it is not a lower-case UUID. The answer then has a new one.
    static func apnsID(_ request: ProviderRequest) throws(APNsReason) -> String {
        guard let text = request.header("apns-id") else { return UUID.ascending().lowercased }
        guard let uuid = UUID(uuidString: text), uuid.lowercased == text else { throw .badMessageID }
        return text
    }

    /// Returns the `apns-id` of the answer: a new one if the request has no valid one.
    static func answeredID(_ request: ProviderRequest) -> String {
        (try? apnsID(request)) ?? UUID.ascending().lowercased
    }

    static func draft(_ request: ProviderRequest, apnsID: String, grant: ProviderGrant) throws(APNsReason) -> Draft {
        let expiration = try expiration(request)
        let priority = try priority(request)
        let collapseID = request.header("apns-collapse-id")
        guard collapseID.map(isCollapseID) ?? true else { throw .badCollapseID }
        // The payload is validated last, but a push without a type gets the type of its payload.
        let payload = request.body.flatMap { try? JSON(received: $0) }
        let pushType = try pushType(request, payload, priority, grant)
        let (topic, app) = try topic(request, pushType, grant)
        let limit = pushType == .voip ? ProviderRequest.bodyLimit : ProviderRequest.payloadLimit
        guard let body = request.body, body.count <= limit else { throw .payloadTooLarge }
        // Apple defines no reason for a body that is not a JSON object.
        guard let payload, payload.members != nil else { throw .payloadEmpty }
        return Draft(
            apnsID: apnsID, expiration: expiration, priority: priority ?? (pushType == .background ? 5 : 10),
            collapseID: collapseID, pushType: pushType, topic: topic, app: app, payload: payload)
    }

    /// Over HTTP/2 a header's value may contain any byte, even U+0000.
    private static func isCollapseID(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    static func expiration(_ request: ProviderRequest) throws(APNsReason) -> Int64? {
        guard let text = request.header("apns-expiration") else { return nil }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let seconds = Int64(text) else {
            throw .badExpirationDate
        }
        return seconds
    }

    /// Returns nil without the header.
    static func priority(_ request: ProviderRequest) throws(APNsReason) -> Int? {
        guard let text = request.header("apns-priority") else { return nil }
        guard let priority = ["10": 10, "5": 5, "1": 1][text] else { throw .badPriority }
        return priority
    }

    private static func pushType(
        _ request: ProviderRequest, _ payload: JSON?, _ priority: Int?, _ grant: ProviderGrant
    ) throws(APNsReason) -> PushType {
        guard let word = request.header("apns-push-type") else {
            let aps = payload?["aps"]
            let shows = ["alert", "sound", "badge"].contains { (aps?[$0] ?? .null) != .null }
            let type: PushType = aps?["content-available"]?.int == 1 && !shows ? .background : .alert
            return try allowed(type, priority)
        }
        guard let type = PushType(rawValue: word) else { throw .invalidPushType }
        _ = try allowed(type, priority)
        // Apple: the topic of `mdm` comes from the certificate, and `location` requires a token.
        guard type != (grant.certificateTopic == nil ? .mdm : .location) else { throw .forbidden }
        return type
    }

    /// Apple: "Specify 5 for background; using 10 is an error", for a named type and for the type of the payload. A
    /// background push with an alert, a sound or a badge is allowed: the device treats it according to its payload.
    private static func allowed(_ type: PushType, _ priority: Int?) throws(APNsReason) -> PushType {
        guard type != .background || priority != 10 else { throw .badPriority }
        return type
    }

    private static func topic(
        _ request: ProviderRequest, _ type: PushType, _ grant: ProviderGrant
    ) throws(APNsReason) -> (topic: String, app: String) {
        // A certificate has one bundle identifier, so the topic is optional.
        let implied = grant.certificateTopic.map { $0 + type.topicSuffix }
        guard let topic = request.header("apns-topic") ?? implied, !topic.isEmpty else { throw .missingTopic }
        guard isIdentifier(topic), topic.hasSuffix(type.topicSuffix) else { throw .badTopic }
        let app = String(topic.dropLast(type.topicSuffix.count))
        guard !app.isEmpty else { throw .badTopic }
        guard grant.allows(topic, of: app) else { throw .topicDisallowed }
        return (topic, app)
    }
}
