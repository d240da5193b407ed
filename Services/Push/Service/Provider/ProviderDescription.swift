import HTTPKit
import HTTPTypes
import Records

// The API description of the calls that APNs defines.

extension APNsReason {
    /// The reasons that any request may get, over any transport and with any credential.
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

    /// The reasons that any call about channels may get.
    static let ofChannels: [APNsReason] = ofAnyRequest + [.featureNotEnabled, .topicMismatch]

    /// Groups reasons by status.
    static func described(_ reasons: [APNsReason]) -> [Int: [String]] {
        Dictionary(grouping: reasons, by: \.status).mapValues { $0.map(\.rawValue).sorted() }
    }
}

extension [RouteParameter] {
    private static func header(_ name: String, _ summary: String) -> RouteParameter {
        RouteParameter(name, in: .header, summary, String.schema)
    }

    private static let common = [
        header("authorization", "`bearer` and the provider's token; ignored with a client certificate"),
        header("apns-expiration", "Seconds since 1970; with 0 the notification is never stored"),
        header("apns-priority", "10, 5 or 1"),
    ]

    static let ofNotifications =
        common + [
            header("apns-topic", "The app's bundle identifier, with the suffix of the push type"),
            header("apns-push-type", "Derived from the payload by default"),
            header("apns-id", "A lower-case UUID, repeated in the answer; a new one by default"),
            header("apns-collapse-id", "Up to 64 bytes; a notification replaces the former one with the same id"),
        ]

    static let ofChannels = [common[0], header("apns-request-id", "A lower-case UUID, repeated in the answer")]
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
            method: .post, path: channels, summary: "Creates a broadcast channel, as APNs does",
            parameters: .ofChannels,
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
            summary: "Sends a notification to all subscribers of the channel in apns-channel-id",
            parameters: .ofBroadcasts,
            reasons: ofOne + [
                .badExpirationDate, .badPriority, .missingPushType, .invalidPushType, .payloadEmpty, .payloadTooLarge,
                .tooManyRequests,
            ]),
    ]
}
