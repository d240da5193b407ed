import Records

/// A validated broadcast request. Source: Apple, "Sending broadcast push notification requests to APNs".
struct BroadcastDraft: Sendable, Equatable {
    var channel: ChannelID
    /// Seconds of real time since 1970; nil without the header.
    var expiration: Int64?
    var priority: Int
    var payload: JSON

    init(_ request: ProviderRequest) throws(APNsReason) {
        channel = try ChannelRequest.channel(request)
        expiration = try ProviderRules.expiration(request)
        priority = try ProviderRules.priority(request) ?? 10
        guard let type = request.header("apns-push-type"), !type.isEmpty else { throw .missingPushType }
        // Apple's pages use both spellings.
        guard type == "liveactivity" || type == "LiveActivity" else { throw .invalidPushType }
        guard let body = request.body, body.count <= ProviderRequest.bodyLimit else { throw .payloadTooLarge }
        // Apple defines no reason for a body that is not a JSON object.
        guard let payload = try? JSON(received: body), payload.members != nil else { throw .payloadEmpty }
        self.payload = payload
    }

    /// Apple: "For channels with a No Messages Stored storage policy, you can only specify a 0 expiration value."
    func requireExpiration(of channel: ChannelConfiguration) throws(APNsReason) {
        guard channel.stores || expiration == nil || expiration == 0 else { throw .badExpirationDate }
    }
}
