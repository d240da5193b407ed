import Contracts
import EventLog
import Foundation
import Logging
import Machines
import PushMachine
import ServiceKit
import ServiceLifecycle
import Timeline

/// Forgets what is of no use any more: old counts, and channels that are gone, where devices still hear them. Each pass does a
/// bounded part of it; any number of processes may do it at once.
struct Upkeep: Service {
    let counts: NotificationCounts
    let channels: ChannelTables
    let commands: Commands<PushMachine>
    let clock: any SuiteClock
    /// How long counts are kept, by the suite's clock.
    let retention: Interval
    let logger: Logger
    /// At most so many rows of each kind in a pass.
    var limit = 500

    /// Works until graceful shutdown or cancellation: on while there is something to do, then again in ten minutes.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            var place: ChannelTables.Audience?
            var pause = Duration.seconds(5)
            var streak = FailureStreak()
            while (try? await Task.sleep(for: pause)) != nil {
                do {
                    let leftCounts = try await forgetCounts()
                    let pass = try await leaveChannels(after: place)
                    place = pass.place
                    pause = leftCounts || !pass.isThrough ? .seconds(1) : .seconds(600)
                    streak.end()
                } catch {
                    if Task.isCancelled { return }
                    pause = streak.fail(within: .seconds(600))
                    logger.log(
                        level: streak.level, "failed to delete old counts and subscriptions, will retry",
                        metadata: [LogKey.error: "\(error)", "failures": "\(streak.count)"])
                }
            }
        }
    }

    /// Forgets counts of hours that are out of the retention.
    ///
    /// - Returns: whether there may be more.
    func forgetCounts() async throws -> Bool {
        let hour = Int((clock.now - retention).milliseconds / Interval.hours(1).milliseconds)
        var left = false
        for partition in 0..<channels.partitions {
            let forgotten = try await counts.forget(before: hour, in: partition, limit: limit)
            if forgotten == limit { left = true }
        }
        return left
    }

    /// Tells devices that a channel is gone which they may hear, and forgets that they may.
    ///
    /// - Returns: where to go on, from the beginning where that is nil; and whether all are through.
    func leaveChannels(
        after place: ChannelTables.Audience?
    ) async throws -> (place: ChannelTables.Audience?, isThrough: Bool) {
        let audiences = try await channels.audiences(after: place, limit: limit)
        for audience in try await channels.withoutChannel(audiences) {
            let keys = try await channels.orphans(audience, limit: limit)
            let told = await tell(keys, audience)
            // Those that can be told nothing now must not keep the others waiting.
            guard !told.isEmpty else { continue }
            try await channels.forget(told, of: audience)
            // There may be more of this one: it comes first in the next pass.
            guard keys.count < limit else { return (place, false) }
        }
        return audiences.count < limit ? (nil, true) : (audiences.last, false)
    }

    /// Those that know now. A device that is parked is told another time.
    private func tell(_ keys: [AggregateKey], _ audience: ChannelTables.Audience) async -> [AggregateKey] {
        var told: [AggregateKey] = []
        for key in keys {
            do {
                let command = PushCommand.forgetChannel(app: audience.app, channel: audience.channel)
                try await commands.submit(command, to: key, origin: Origin(id: UUID.random()))
            } catch PushRefusal.deviceNotRegistered {
                // Whoever is gone hears nothing.
            } catch {
                logger.warning(
                    "failed to unsubscribe device from deleted channel, will retry",
                    metadata: [LogKey.error: "\(error)", LogKey.aggregate: "\(key)"])
                continue
            }
            told.append(key)
        }
        return told
    }
}
