import Contracts
import EventLog
import Foundation
import Logging
import Machines
import PushCore
import ServiceKit
import ServiceLifecycle
import Telemetry
import Timeline

/// Deletes old counts, and unsubscribes devices from deleted store. Each pass does a bounded part. Any number of
/// processes may run it at once.
struct Upkeep: Service {
    let store: PushStore
    let commands: Commands<PushMachine>
    let clock: any SuiteClock
    /// The time for which counts are kept, in suite time.
    let retention: Interval
    let logger: Logger
    /// The largest number of rows of each kind in a pass.
    var limit = 500

    /// Runs until graceful shutdown or cancellation: a pass each second while work is left, else every ten minutes.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            var last: PushStore.Audience?
            var pause = Duration.seconds(5)
            var streak = FailureStreak()
            while (try? await Task.sleep(for: pause)) != nil {
                do {
                    let leftCounts = try await forgetCounts()
                    let pass = try await leaveChannels(after: last)
                    last = pass.last
                    pause = leftCounts || !pass.isThrough ? .seconds(1) : .seconds(600)
                    streak.end()
                } catch {
                    if Task.isCancelled { return }
                    pause = streak.fail(within: .seconds(600))
                    logger.log(
                        level: streak.level, "failed to delete old counts and subscriptions, will retry",
                        error: error, metadata: [LogKey.failures: "\(streak.count)"])
                }
            }
        }
    }

    /// Deletes counts of hours before the retention.
    ///
    /// - Returns: whether more may be left.
    func forgetCounts() async throws -> Bool {
        let hour = Int((clock.now - retention).milliseconds / Interval.hours(1).milliseconds)
        var left = false
        for partition in 0..<store.partitions {
            let forgotten = try await store.forgetCounts(before: hour, in: partition, limit: limit)
            if forgotten == limit { left = true }
        }
        return left
    }

    /// Unsubscribes devices from deleted store.
    ///
    /// - Returns: the audience to continue after (nil: from the beginning), and whether the pass reached the end.
    func leaveChannels(
        after last: PushStore.Audience?
    ) async throws -> (last: PushStore.Audience?, isThrough: Bool) {
        let audiences = try await store.audiences(after: last, limit: limit)
        for audience in try await store.withoutChannel(audiences) {
            let keys = try await store.orphans(audience, limit: limit)
            let unsubscribed = await unsubscribe(keys, audience)
            // Devices that can take no command now must not delay other audiences.
            guard !unsubscribed.isEmpty else { continue }
            try await store.forget(unsubscribed, of: audience)
            // The audience may have more devices: the next pass begins with it.
            guard keys.count < limit else { return (last, false) }
        }
        return audiences.count < limit ? (nil, true) : (audiences.last, false)
    }

    /// Returns the devices that are unsubscribed now. A later pass retries a parked device.
    private func unsubscribe(_ keys: [AggregateKey], _ audience: PushStore.Audience) async -> [AggregateKey] {
        var unsubscribed: [AggregateKey] = []
        for key in keys {
            do {
                let command = PushCommand.forgetChannel(app: audience.app, channel: audience.channel)
                try await commands.submit(command, to: key, origin: Origin(id: UUID.random()))
            } catch PushRefusal.deviceNotRegistered {
                // A removed device has no subscriptions.
            } catch {
                logger.warning(
                    "failed to unsubscribe device from deleted channel, will retry",
                    error: error, metadata: [LogKey.aggregate: "\(key)"])
                continue
            }
            unsubscribed.append(key)
        }
        return unsubscribed
    }
}
