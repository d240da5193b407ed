import Contracts
import EventLog
import Foundation
import NIOCore
import Postgres
import PushCore
import Records
import ServiceKit
import Timeline

/// The parts of the provider endpoint for channels.
struct ProviderChannels: Sendable {
    let store: PushStore
    let feature: BroadcastFeature
    let relay: BroadcastRelay
}

/// Manages channels and accepts broadcasts, over any transport.
extension ProviderEndpoint {
    func answerOfChannels(
        _ request: ProviderRequest, on connection: ProviderConnection, traceparent: String?
    ) async -> ProviderAnswer {
        var requestID = (try? ChannelRequest.requestID(request)) ?? UUID.random().lowercased
        do throws(APNsReason) {
            let asked = try ChannelRequest(request)
            try ProviderRules.requireSingleHeaders(request)
            let grant = try await admit(request, on: connection)
            if request.header("apns-request-id") != nil { requestID = try ChannelRequest.requestID(request) }
            try await hold(request, of: connection, under: grant) { grant throws(APNsReason) in
                try asked.requireApp(of: grant, channels.feature)
            }
            let requester = Requester(traceparent: traceparent, actor: grant.actor)
            var answer = try await slots.hold(grant.actor) { () async throws(APNsReason) -> ProviderAnswer in
                try await self.answer(asked, request, requestID, requester, under: grant, from: connection)
            }
            answer.headers.insert(.init("apns-request-id", requestID), at: 0)
            return answer
        } catch {
            return .refusedOfChannels(error, requestID: requestID)
        }
    }

    private func answer(
        _ asked: ChannelRequest, _ request: ProviderRequest, _ requestID: String, _ requester: Requester,
        under grant: ProviderGrant, from connection: ProviderConnection
    ) async throws(APNsReason) -> ProviderAnswer {
        func audit(_ action: AuditAction, _ channel: ChannelID) -> AuditEntry {
            AuditEntry(
                action, by: AuditActor(.provider, requester.actor), from: connection.address?.ipAddress,
                of: "channel:\(channel)", details: ["app": .string(app), "environment": .string(environment.rawValue)])
        }
        let store = channels.store
        let app = asked.app
        let creator = grant.creator(ofChannelsOf: app)
        switch asked.action {
        case .create:
            let configuration = try ChannelConfiguration(request.body)
            let channel = ChannelID()
            let isMade = try await stored {
                try await store.add(
                    channel, configuration, app, environment, by: grant.actor, audit: audit(.channelCreated, channel))
            }
            guard isMade else { throw .cannotCreateChannelConfig }
            return ProviderAnswer(status: 201, headers: [.init("apns-channel-id", channel.description)])
        case .read:
            let channel = try ChannelRequest.channel(request)
            return .json(try await configuration(of: channel, app, by: creator).json)
        case .delete:
            let channel = try ChannelRequest.channel(request)
            let isRemoved = try await stored {
                try await store.remove(
                    channel, app, environment, of: creator, audit: audit(.channelRemoved, channel))
            }
            guard isRemoved else { throw .channelNotRegistered }
            return ProviderAnswer(status: 204, headers: [])
        case .list:
            let names = try await stored { try await store.channels(of: app, environment, by: creator) }
            return .json(["channels": .array(names.map { .string($0) })])
        case .broadcast:
            let draft = try BroadcastDraft(request)
            try await publish(draft, app, requestID, requester, toChannelsBy: creator)
            return ProviderAnswer(status: 200, headers: [])
        }
    }

    /// Commits a broadcast and its relays.
    private func publish(
        _ draft: BroadcastDraft, _ app: String, _ requestID: String, _ requester: Requester,
        toChannelsBy creator: String?
    ) async throws(APNsReason) {
        let configuration = try await configuration(of: draft.channel, app, by: creator)
        try draft.requireExpiration(of: configuration)
        guard try await !stored({ try await channels.store.isFull(draft.channel) }) else { throw .tooManyRequests }
        let broadcast = IncomingBroadcast(
            app: app, channel: draft.channel.description, environment: environment, requestID: requestID,
            priority: draft.priority, expiration: suiteTime(ofExpiration: draft.expiration),
            neverStored: !configuration.stores || draft.expiration == 0, payload: draft.payload)
        let isTaken = try await stored { try await channels.store.publish(broadcast, by: requester) }
        // The channel was deleted in the meantime.
        guard isTaken else { throw .channelNotRegistered }
        channels.relay.wake()
    }

    private func configuration(
        of channel: ChannelID, _ app: String, by creator: String?
    ) async throws(APNsReason) -> ChannelConfiguration {
        let found = try await stored {
            try await channels.store.configuration(of: channel, app, environment, by: creator)
        }
        guard let found else { throw .channelNotRegistered }
        return found
    }

    private func stored<T>(_ body: () async throws -> T) async throws(APNsReason) -> T {
        do { return try await body() } catch {
            throw error is PostgresError ? .serviceUnavailable : .internalServerError
        }
    }
}

extension ProviderAnswer {
    fileprivate static func json(_ json: JSON) -> ProviderAnswer {
        ProviderAnswer(status: 200, headers: [Header("content-type", "application/json")], body: json.bytes)
    }

    /// An answer of Apple's "Handling error responses from Apple Push Notification service".
    static func refusedOfChannels(_ reason: APNsReason, requestID: String) -> ProviderAnswer {
        let body: JSON = ["reason": .string(reason.rawValue)]
        return ProviderAnswer(
            status: reason.status,
            headers: [Header("apns-request-id", requestID), Header("content-type", "application/json")],
            body: body.bytes)
    }

    /// A refusal by the transport, with the id header of the requested API.
    static func refused(_ reason: APNsReason, _ request: ProviderRequest) -> ProviderAnswer {
        guard ChannelRequest.isMeant(by: request.path) else {
            return .refused(reason, apnsID: ProviderRules.answeredID(request))
        }
        let id = (try? ChannelRequest.requestID(request)) ?? UUID.random().lowercased
        return .refusedOfChannels(reason, requestID: id)
    }
}
