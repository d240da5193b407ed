import Contracts
import Crypto
import Foundation
import Timeline

/// The token state of a provider's connection. All times are real time.
///
/// Source: Apple, "Establishing a token-based connection to APNs".
struct ProviderSession: Sendable {
    /// The validity of a token after `iat`.
    static let lifetime = Interval.hours(1)
    /// The shortest time between two new tokens of a connection.
    static let updateInterval = Interval.minutes(20)
    /// The largest tolerated lead of a provider's clock. Our choice.
    static let skew = Interval.minutes(1)

    /// The team that the connection is bound to; nil before its first valid token.
    private(set) var team: String?
    private var current: (token: String, key: ProviderKey, since: Instant)?
    /// The last parsed header. Nearly all requests of a connection have the same one.
    private var read: (header: String, token: ProviderToken)?

    /// Parses the token of an `authorization` header.
    mutating func token(_ header: String?) throws(APNsReason) -> ProviderToken {
        if let header, let read, read.header == header { return read.token }
        let token = try Self.token(header)
        if let header { read = (header, token) }
        return token
    }

    static func token(_ header: String?) throws(APNsReason) -> ProviderToken {
        guard let header else { throw .missingProviderToken }
        let parts = header.split(separator: " ")
        guard parts.first?.lowercased() == "bearer" else { throw .missingProviderToken }
        guard parts.count == 2, let token = ProviderToken(String(parts[1])) else { throw .invalidProviderToken }
        return token
    }

    /// Admits a request by its token, and binds the connection to its team.
    ///
    /// - Parameter keys: the registered keys of the token's team, of any environment.
    mutating func admit(
        _ token: ProviderToken, keys: [ProviderKey], environment: PushEnvironment, now: Instant
    ) throws(APNsReason) -> ProviderKey {
        let named = keys.filter { $0.keyID == token.keyID && $0.teamID == token.teamID }
        guard !named.isEmpty else { throw .invalidProviderToken }
        guard let key = named.first(where: { $0.environment == environment.rawValue }) else {
            throw .badEnvironmentKeyIDInToken
        }
        // The signature of the current token was already verified with this key.
        let isKnown = current?.token == token.text && current?.key.point == key.point
        guard isKnown || token.isSigned(by: key.publicKey) else { throw .invalidProviderToken }
        let issued = token.issuedAt.multipliedReportingOverflow(by: 1000)
        guard !issued.overflow else { throw .invalidProviderToken }
        let issuedAt = Instant(milliseconds: Int64(issued.partialValue))
        guard issuedAt <= now + Self.skew else { throw .invalidProviderToken }
        guard issuedAt >= now - Self.lifetime else { throw .expiredProviderToken }
        if let team, team != token.teamID { throw .unrelatedKeyIDInToken }
        if let current, current.token != token.text, now - current.since < Self.updateInterval {
            throw .tooManyProviderTokenUpdates
        }
        if current?.token != token.text { current = (token.text, key, now) }
        team = token.teamID
        return key
    }
}
