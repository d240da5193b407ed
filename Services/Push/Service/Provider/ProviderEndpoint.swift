import Contracts
import Foundation
import HTTPKit
import Logging
import Machines
import NIOCore
import Postgres
import PushCore
import Runtime
import ServiceKit
import Synchronization
import Timeline

/// The state of a provider's connection.
final class ProviderConnection: Sendable {
    let session = Mutex(ProviderSession())
    /// The client certificate of the handshake; nil if the client has none.
    let certificate: ClientCertificate?
    /// The address of the client; nil if it is unknown.
    let address: SocketAddress?

    init(certificate: ClientCertificate? = nil, address: SocketAddress? = nil) {
        (self.certificate, self.address) = (certificate, address)
    }

    /// The team of the connection's valid provider token; nil without one.
    var team: String? { session.withLock { $0.team } }
    /// The provider of the connection's last valid credential, as in events; nil without one.
    var actor: String? {
        if let topic = certificate?.topic { return "certificate:" + topic }
        return team.map { "team:" + $0 }
    }
    /// Whether the connection has shown a valid credential.
    var isAdmitted: Bool { certificate?.topic != nil || team != nil }
}

/// Answers providers' requests over any transport: validates them, finds the device, and submits the notification.
struct ProviderEndpoint: Sendable {
    let environment: PushEnvironment
    let commands: Commands<PushMachine>
    let store: PushStore
    let keys: ProviderKeys
    let channels: ProviderChannels
    /// Suite time.
    let clock: any SuiteClock
    /// Real time.
    var real: any SuiteClock = RealClock()
    let failures: FailedCredentials
    let logger: Logger
    let rates = TokenRates()
    var slots = ProviderSlots()
    private let located = Located()

    func answer(_ request: ProviderRequest, on connection: ProviderConnection, traceparent: String?) async
        -> ProviderAnswer
    {
        guard !ChannelRequest.isMeant(by: request.path) else {
            return await answerOfChannels(request, on: connection, traceparent: traceparent)
        }
        // The answer has a new id if the request has no valid one.
        var apnsID = ProviderRules.answeredID(request)
        do throws(APNsReason) {
            let text = try ProviderRules.token(request)
            try ProviderRules.requireSingleHeaders(request)
            let grant = try await admit(request, on: connection)
            if request.header("apns-id") != nil { apnsID = try ProviderRules.apnsID(request) }
            let id = apnsID
            let draft = try await hold(request, of: connection, under: grant) { grant throws(APNsReason) in
                try ProviderRules.draft(request, apnsID: id, grant: grant)
            }
            guard let token = PushToken(text) else { throw .badDeviceToken }
            guard rates.admit(token, now: real.now) else { throw .tooManyRequests }
            return try await slots.hold(grant.actor) { () async throws(APNsReason) -> ProviderAnswer in
                try await deliver(draft, to: token, Requester(traceparent: traceparent, actor: grant.actor))
            }
        } catch {
            return .refused(error, apnsID: apnsID)
        }
    }

    func admit(
        _ request: ProviderRequest, on connection: ProviderConnection
    ) async throws(APNsReason) -> ProviderGrant {
        // A token is ignored if the connection has a certificate.
        if let certificate = connection.certificate { return try certificate.grant(in: environment) }
        do throws(APNsReason) { return try await admit(request.header("authorization"), on: connection) } catch {
            // A request without a token tries no credential.
            if error.isOfBadToken { failures.note(from: connection.address) }
            throw error
        }
    }

    private func admit(_ header: String?, on connection: ProviderConnection) async throws(APNsReason) -> ProviderGrant {
        let read = connection.session.withLock { session in
            Result { () throws(APNsReason) in try session.token(header) }
        }
        let token = try read.get()
        do throws(APNsReason) {
            return try grant(to: token, by: keys.known(ofTeam: token.teamID), on: connection)
        } catch {
            guard error == .invalidProviderToken || error == .badEnvironmentKeyIDInToken else { throw error }
            // Another replica may have registered the token's key since. An address that has sent too many bad tokens
            // causes no reads: its keys become known a few seconds later.
            guard failures.wait(of: connection.address, logger) == nil else { throw error }
            return try grant(to: token, by: try await currentKeys(ofTeam: token.teamID), on: connection)
        }
    }

    /// Applies rules that depend on the topic. If they refuse it, they decide again with the database's current keys.
    /// Another replica may have registered the key again with other topics.
    func hold<T>(
        _ request: ProviderRequest, of connection: ProviderConnection, under grant: ProviderGrant,
        to rules: (ProviderGrant) throws(APNsReason) -> T
    ) async throws(APNsReason) -> T {
        do throws(APNsReason) { return try rules(grant) } catch {
            let isOfTopics = error == .topicDisallowed || error == .topicMismatch
            guard isOfTopics, grant.certificateTopic == nil, !grant.topics.isEmpty else { throw error }
            let token = try ProviderSession.token(request.header("authorization"))
            let current = try await currentKeys(ofTeam: token.teamID)
            return try rules(try self.grant(to: token, by: current, on: connection))
        }
    }

    private func grant(
        to token: ProviderToken, by keys: [ProviderKey], on connection: ProviderConnection
    ) throws(APNsReason) -> ProviderGrant {
        let admitted: Result<ProviderKey, APNsReason> = connection.session.withLock { session in
            Result { () throws(APNsReason) in
                try session.admit(token, keys: keys, environment: environment, now: real.now)
            }
        }
        return ProviderGrant(topics: try admitted.get().topics, team: token.teamID, owners: self.keys.owners)
    }

    private func currentKeys(ofTeam team: String) async throws(APNsReason) -> [ProviderKey] {
        do { return try await keys.current(ofTeam: team) } catch { throw .serviceUnavailable }
    }

    private func deliver(
        _ draft: ProviderRules.Draft, to token: PushToken, _ requester: Requester
    ) async throws(APNsReason) -> ProviderAnswer {
        let id = NotificationID(token, random: UUID.random()).description
        let push = draft.push(
            as: id, to: token, in: environment, expiration: suiteTime(ofExpiration: draft.expiration))
        var origin = requester.origin
        // The timeline finds a notification by its `apns-id` as the correlation id.
        origin.correlation = UUID(uuidString: draft.apnsID)
        do {
            for device in try await devices(of: token) {
                do {
                    // Before the push, so that a broadcast right after it reaches the device.
                    if let channel = push.startChannel, ChannelID(channel)?.isComplete == true {
                        try await store.subscribe(device, push.app, to: [channel])
                    }
                    try await commands.submit(.receive(push), to: device, origin: origin)
                    return .taken(apnsID: draft.apnsID, uniqueID: environment == .sandbox ? id : nil)
                } catch PushRefusal.badDeviceToken {
                    continue
                } catch let refusal as PushRefusal {
                    if let status = refusal.pushStatus {
                        origin.id = UUID.random()
                        try await commands.submit(.refuse(push, status), to: device, origin: origin)
                    }
                    throw refusal
                }
            }
            return .refused(.badDeviceToken, apnsID: draft.apnsID)
        } catch let refusal as PushRefusal {
            return answer(to: refusal, draft)
        } catch let error as RuntimeError {
            return .refused(reason(error), apnsID: draft.apnsID)
        } catch is PostgresError {
            return .refused(.serviceUnavailable, apnsID: draft.apnsID)
        } catch {
            return .refused(.internalServerError, apnsID: draft.apnsID)
        }
    }

    /// Returns the candidate devices of a token. Cached, because the device of a token never changes.
    private func devices(of token: PushToken) async throws -> [AggregateKey] {
        guard token.partition < store.partitions else { return [] }
        if let known = located.devices(token) { return known }
        let found = try await store.devices(in: token.partition, locator: token.locator)
        if !found.isEmpty { located.keep(found, for: token) }
        return found
    }

    func suiteTime(ofExpiration seconds: Int64?) -> Instant? {
        ProviderRules.suiteTime(ofExpiration: seconds, at: clock.now, real: real.now)
    }

    private func answer(to refusal: PushRefusal, _ draft: ProviderRules.Draft) -> ProviderAnswer {
        switch refusal.reason.kind {
        case .gone(let since):
            revoked(refusal == .expiredToken(since: since) ? .expiredToken : .unregistered, since, draft)
        case .invalid where refusal == .deviceTokenNotForTopic:
            .refused(.deviceTokenNotForTopic, apnsID: draft.apnsID)
        case .invalid, .notFound: .refused(.badDeviceToken, apnsID: draft.apnsID)
        case .conflict, .noSpace, .unprocessable, .unreadable: .refused(.internalServerError, apnsID: draft.apnsID)
        }
    }

    private func revoked(_ reason: APNsReason, _ since: Instant, _ draft: ProviderRules.Draft) -> ProviderAnswer {
        let ago = clock.now - since
        return .refused(reason, apnsID: draft.apnsID, timestamp: (real.now - ago).milliseconds)
    }

    private func reason(_ error: RuntimeError) -> APNsReason {
        switch error {
        case .overloaded, .behind, .databaseUnavailable, .eventsLost, .outcomeUnknown, .parked, .newerState:
            .serviceUnavailable
        case .stopping: .shutdown
        case .failed, .idempotencyConflict, .malformedState, .stateTooLarge: .internalServerError
        }
    }
}

/// A cache of the devices of tokens.
private final class Located: Sendable {
    private static let limit = 100_000
    private let known = Mutex<[PushToken: [AggregateKey]]>([:])

    func devices(_ token: PushToken) -> [AggregateKey]? { known.withLock { $0[token] } }

    func keep(_ devices: [AggregateKey], for token: PushToken) {
        known.withLock { known in
            if known.count >= Self.limit { known.removeAll() }
            known[token] = devices
        }
    }
}
