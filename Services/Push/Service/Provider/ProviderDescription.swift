import HTTPTypes
import Records
import ServiceKit

// What the API description says of the calls that are APNs's.

extension APNsReason {
    /// Those of requests by whoever may not send, or not this. Over TLS with a certificate, over HTTP/2, or with a token.
    private static let ofAnyRequest: [APNsReason] = [
        .duplicateHeaders, .badMessageID, .idleTimeout, .badCertificate, .badCertificateEnvironment,
        .expiredProviderToken, .invalidProviderToken, .missingProviderToken, .unrelatedKeyIDInToken,
        .badEnvironmentKeyIDInToken, .topicDisallowed, .tooManyProviderTokenUpdates, .internalServerError,
        .serviceUnavailable, .shutdown,
    ]

    static let ofNotifications: [APNsReason] =
        ofAnyRequest + [
            .badCollapseID, .badDeviceToken, .badExpirationDate, .badPriority, .badTopic, .deviceTokenNotForTopic,
            .invalidPushType, .missingTopic, .payloadEmpty, .payloadTooLarge, .forbidden, .expiredToken, .unregistered,
            .tooManyRequests,
        ]

    /// Those of all calls about channels.
    static let ofChannels: [APNsReason] = ofAnyRequest + [.featureNotEnabled, .topicMismatch]

    /// By status, in words.
    static func described(_ reasons: [APNsReason]) -> [Int: [String]] {
        Dictionary(grouping: reasons, by: \.status).mapValues { $0.map(\.rawValue).sorted() }
    }
}

extension [RouteParameter] {
    private static func header(_ name: String, _ summary: String) -> RouteParameter {
        RouteParameter(name, in: .header, summary, String.schema)
    }

    private static let common = [
        header("authorization", "`bearer` and the provider's token; not looked at beside a client certificate"),
        header("apns-expiration", "Seconds since 1970; 0 is never stored"), header("apns-priority", "10, 5 or 1"),
    ]

    static let ofNotifications =
        common + [
            header("apns-topic", "The app's bundle identifier, with the suffix of the push type"),
            header("apns-push-type", "By the payload where it is missing"),
            header("apns-id", "A lower-case UUID, which the answer has; a new one where it is missing"),
            header("apns-collapse-id", "Up to 64 bytes; what has the same replaces the one before"),
        ]

    static let ofChannels = [common[0], header("apns-request-id", "A lower-case UUID, which the answer has")]
    static let ofOneChannel = ofChannels + [header("apns-channel-id", "The channel")]
    static let ofBroadcasts = ofOneChannel + common.dropFirst() + [header("apns-push-type", "`liveactivity`")]
}

/// A call about the channels of an app.
struct ChannelCall {
    var method: HTTPRequest.Method
    var path: String
    var summary: String
    var parameters = [RouteParameter].ofOneChannel
    var response: (any Value.Type)?
    var status = HTTPResponse.Status.ok
    var reasons: [APNsReason]

    private static let channels = "/1/apps/{app}/channels"
    private static let ofOne = APNsReason.ofChannels + [.missingChannelID, .badChannelID, .channelNotRegistered]

    static let all = [
        ChannelCall(
            method: .post, path: channels, summary: "Makes a broadcast channel, as APNs does", parameters: .ofChannels,
            status: .created,
            reasons: APNsReason.ofChannels + [
                .badRequestPayload, .badRequestParams, .missingPushType, .invalidPushType, .payloadTooLarge,
                .cannotCreateChannelConfig,
            ]),
        ChannelCall(
            method: .get, path: channels, summary: "The configuration of the channel in apns-channel-id",
            response: JSON.self, reasons: ofOne),
        ChannelCall(
            method: .delete, path: channels, summary: "Deletes the channel in apns-channel-id", status: .noContent,
            reasons: ofOne),
        ChannelCall(
            method: .get, path: "/1/apps/{app}/all-channels", summary: "The channels of an app",
            parameters: .ofChannels, response: JSON.self, reasons: APNsReason.ofChannels),
        ChannelCall(
            method: .post, path: "/4/broadcasts/apps/{app}",
            summary: "Sends a notification to all who hear the channel in apns-channel-id", parameters: .ofBroadcasts,
            reasons: ofOne + [
                .badExpirationDate, .badPriority, .missingPushType, .invalidPushType, .payloadEmpty, .payloadTooLarge,
                .tooManyRequests,
            ]),
    ]
}
