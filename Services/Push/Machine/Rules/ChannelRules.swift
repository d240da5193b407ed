import Contracts
import Foundation
import Machines
import OrderedCollections
import Timeline

// Broadcast channels: which an app hears, and what comes by them.
extension Decision<PushMachine> {
    /// Takes down which channels an app hears.
    ///
    /// - Parameter channels: all of them; nil leaves them as they are.
    mutating func subscribe(_ app: String, to channels: [String]?) {
        guard let channels, let record = state.apps[app] else { return }
        let named = Array(OrderedSet(channels))
        guard record.channels != named else { return }
        emit(.channelsChanged(.init(app: app, channels: named)))
    }

    /// No app hears a channel that is gone.
    mutating func forget(_ channel: String, of app: String) {
        guard let heard = state.apps[app]?.channels, heard.contains(channel) else { return }
        emit(.channelsChanged(.init(app: app, channels: heard.filter { $0 != channel })))
    }

    /// Apple, "Sending channel management requests to APNs": messages are stored for 8 hours at most, where at all.
    mutating func receive(_ broadcast: IncomingBroadcast) throws(PushRefusal) {
        let app = state.apps[broadcast.app]
        guard let app, let registration = app.registration, registration.environment == broadcast.environment,
            app.channels.contains(broadcast.channel), let token = PushToken(registration.token)
        else { throw .notSubscribed }
        let id = NotificationID(token, random: UUID(randomNumber(), randomNumber())).description
        let latest = now + policy.channelStorage
        emit(
            .notificationReceived(
                .init(
                    app: broadcast.app, apnsID: broadcast.requestID, channel: broadcast.channel,
                    neverStored: broadcast.neverStored, notification: id, payload: broadcast.payload,
                    priority: broadcast.priority, pushType: .liveactivity,
                    silent: PushMessage.isSilent(broadcast.payload),
                    topic: broadcast.app + PushType.liveactivity.topicSuffix,
                    until: min(broadcast.expiration ?? latest, latest))))
        makeRoom(for: id)
        route(id)
    }
}

extension UUID {
    /// Of 128 bits, big-endian.
    fileprivate init(_ high: UInt64, _ low: UInt64) {
        let bytes = [high, low].flatMap { number in
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) }
        }
        self = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}
