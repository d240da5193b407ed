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
    static let ofOneChannel = ofChannels + [.missingChannelID, .badChannelID, .channelNotRegistered]
    static let ofNewChannel =
        ofChannels + [
            .badRequestPayload, .badRequestParams, .missingPushType, .invalidPushType, .payloadTooLarge,
            .cannotCreateChannelConfig,
        ]
    static let ofBroadcasts =
        ofOneChannel + [
            .badExpirationDate, .badPriority, .missingPushType, .invalidPushType, .payloadEmpty, .payloadTooLarge,
            .tooManyRequests,
        ]
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

extension RouteTrait {
    /// A call of APNs, whose errors have a reason.
    static func apns(_ parameters: [RouteParameter], _ reasons: [APNsReason]) -> RouteTrait {
        .all(
            .open, .parameters(parameters),
            .reasons(Dictionary(grouping: reasons, by: \.status).mapValues { $0.map(\.rawValue).sorted() }))
    }
}
