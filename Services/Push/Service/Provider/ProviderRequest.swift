import Records

/// A provider's request, independent of its transport.
struct ProviderRequest: Sendable {
    var method: String
    /// Without the query.
    var path: String
    /// Names in lower case.
    var headers: [(name: String, value: String)]
    /// Nil if it exceeds ``bodyLimit``.
    var body: [UInt8]?

    /// The largest payload in bytes, except `voip` and broadcasts (Apple, "Generating a remote notification": 4 KB).
    static let payloadLimit = 4096
    /// The largest payload of any kind, in bytes: `voip` and broadcasts (5 KB).
    static let bodyLimit = 5120

    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

/// An answer to a provider, independent of its transport.
struct ProviderAnswer: Sendable, Equatable {
    var status: Int
    /// Names in lower case.
    var headers: [Header]
    /// JSON, or empty.
    var body: [UInt8] = []
    /// Why the request is refused; nil if it is not.
    var reason: APNsReason?

    struct Header: Sendable, Equatable {
        let name: String
        let value: String

        init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// - Parameter uniqueID: set only in the sandbox.
    static func taken(apnsID: String, uniqueID: String?) -> ProviderAnswer {
        let unique = uniqueID.map { [Header("apns-unique-id", $0)] } ?? []
        return ProviderAnswer(status: 200, headers: [Header("apns-id", apnsID)] + unique)
    }

    /// - Parameter timestamp: when the token became inactive, in milliseconds of real time since 1970; for status 410.
    static func refused(_ reason: APNsReason, apnsID: String, timestamp: Int64? = nil) -> ProviderAnswer {
        var members = [JSON.Member("reason", .string(reason.rawValue))]
        if let timestamp { members.append(JSON.Member("timestamp", .int(Int(timestamp)))) }
        return ProviderAnswer(
            status: reason.status, headers: [Header("apns-id", apnsID), Header("content-type", "application/json")],
            body: JSON.object(members).bytes, reason: reason)
    }
}
