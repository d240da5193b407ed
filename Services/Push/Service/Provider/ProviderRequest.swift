import Records

/// A request of a provider, whatever transport it came by.
struct ProviderRequest: Sendable {
    var method: String
    /// Without the query.
    var path: String
    /// Names in lower case.
    var headers: [(name: String, value: String)]
    /// Nil where it is larger than any payload may be.
    var body: [UInt8]?

    /// The largest payload of any type.
    static let bodyLimit = 5120

    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

/// What a provider is answered, whatever transport takes it.
struct ProviderAnswer: Sendable, Equatable {
    var status: Int
    var apnsID: String
    /// Only in the sandbox, and only where the notification was taken.
    var uniqueID: String?
    var reason: APNsReason?
    /// With status 410: since when the token is void, in milliseconds of real time since 1970.
    var timestamp: Int64?

    static func taken(apnsID: String, uniqueID: String?) -> ProviderAnswer {
        ProviderAnswer(status: 200, apnsID: apnsID, uniqueID: uniqueID)
    }

    static func refused(_ reason: APNsReason, apnsID: String, timestamp: Int64? = nil) -> ProviderAnswer {
        ProviderAnswer(status: reason.status, apnsID: apnsID, reason: reason, timestamp: timestamp)
    }

    /// JSON where there is a reason, else empty.
    var body: [UInt8] {
        guard let reason else { return [] }
        var members = [JSON.Member("reason", .string(reason.rawValue))]
        if let timestamp { members.append(JSON.Member("timestamp", .int(Int(timestamp)))) }
        return JSON.object(members).bytes
    }
}
