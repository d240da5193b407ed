import Contracts
import Foundation
import Machines
import OrderedCollections
import Timeline

// Subscriptions to broadcast channels, and broadcasts.
extension Decision<PushMachine> {
    /// Sets the channels of an app; nil keeps the current ones.
    mutating func subscribe(_ app: String, to channels: [String]?) {
        guard let channels, let record = state.apps[app] else { return }
        let named = Array(OrderedSet(channels))
        guard record.channels != named else { return }
        emit(.channelsChanged(.init(app: app, channels: named)))
    }

    /// Unsubscribes an app from a deleted channel.
    mutating func forget(_ channel: String, of app: String) {
        guard let heard = state.apps[app]?.channels, heard.contains(channel) else { return }
        emit(.channelsChanged(.init(app: app, channels: heard.filter { $0 != channel })))
    }

    /// Apple, "Sending channel management requests to APNs": messages are stored for at most 8 hours.
    mutating func receive(_ broadcast: IncomingBroadcast) throws(PushRefusal) {
        guard let app = state.apps[broadcast.app], app.hears(broadcast.channel, in: broadcast.environment) else {
            throw .notSubscribed
        }
        // An id contains the location of the device and nothing secret of a token. An app may have no token.
        let token = PushToken(key, partitions: policy.partitions, random: (0, 0))
        let id = NotificationID(token, random: UUID(bytes: randomNumber().bytes + randomNumber().bytes)).description
        let latest = now + policy.channelStorage
        emit(
            .notificationReceived(
                .init(
                    app: broadcast.app, apnsID: broadcast.requestID, channel: broadcast.channel,
                    forUser: false, neverStored: broadcast.neverStored, notification: id, payload: broadcast.payload,
                    priority: broadcast.priority, pushType: .liveactivity,
                    silent: false,
                    topic: broadcast.app + PushType.liveactivity.topicSuffix,
                    until: min(broadcast.expiration ?? latest, latest))))
        makeRoom(for: id)
        route(id)
    }
}
