import EventLog
import Foundation
import Logging
import NIOHTTP1
import Postgres
import Records
import Synchronization
import TestSupport

/// Measures devices connected to one process: the memory of each, and the time from the log to the device.
struct ConnectedDevices {
    let devices: Int
    /// Well below the capacity of the process, so that no queue adds to the latency.
    let pace: Pace

    struct Times {
        /// In bytes.
        let memory: Double
        let sent: [Double]
        /// The milliseconds until the device has a notification, since `push` has inserted it.
        let accepted: [Double]
        let lost: Int
    }

    func run() async throws {
        Report.heading("\(devices) connected devices")
        let times = try await measure()
        let sorted = times.accepted.sorted()
        Report.figure("memory a connected device", times.memory / 1024, "KB")
        Report.figure("notifications", Double(pace.rate), "per second")
        Report.bound("notifications lost", Double(times.lost), "", limit: 0)
        Report.bound("accepted to device, p50", Benchmarks.percentile(of: sorted, 0.5), "ms", limit: 15)
        Report.bound("accepted to device, p99", Benchmarks.percentile(of: sorted, 0.99), "ms", limit: 40)
    }

    func measure() async throws -> Times {
        let rig = try await PushRig.start()
        Report.progress("registering \(devices) devices")
        let tokens = try await rig.makeDevices(devices)
        let idle = try resident(rig)
        let arrivals = Arrivals()
        let count = Tally()
        let times = try await withThrowingTaskGroup(of: Void.self) { group in
            let opened = Tally()
            for number in 0..<devices {
                group.addTask {
                    try await rig.follow(device: number, opened: opened) { notification in
                        arrivals.add(notification, at: wallMilliseconds())
                        count.add()
                    }
                }
                // The backlog of a listening socket limits concurrent connects.
                if number % 100 == 99 { try await opened.reaches(number + 1 - 100) }
            }
            try await opened.reaches(devices)
            let memory = (try resident(rig) - idle) / Double(devices)
            try await notify(rig, tokens)
            try await withTimeout(seconds: 60, "the last notification") { try await count.reaches(pace.total) }
            let arrived = arrivals.all
            let accepted = try await accepted(rig, arrived)
            group.cancelAll()
            while let outcome = await group.nextResult() {
                if case .failure(let error) = outcome, !(error is CancellationError) { throw error }
            }
            return Times(
                memory: memory, sent: arrived.values.map { $0.at - $0.sentAt }, accepted: accepted,
                lost: pace.total - accepted.count)
        }
        try await rig.stop()
        return times
    }

    private func notify(_ rig: PushRig, _ tokens: [String]) async throws {
        let (workers, total) = (64, pace.total)
        let began = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<workers {
                group.addTask {
                    for number in stride(from: worker, to: total, by: workers) {
                        try await Task.sleep(until: began + .seconds(Double(number) / Double(pace.rate)))
                        try await rig.send(
                            .POST, "\(rig.push)/3/device/\(tokens[number % tokens.count])",
                            ["aps": ["alert": "hello"], "sentAt": .double(wallMilliseconds())],
                            ["authorization": "bearer \(rig.bearer)", "apns-topic": PushRig.app])
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func accepted(_ rig: PushRig, _ arrived: [String: Arrival]) async throws -> [Double] {
        let pool = ConnectionPool(try ConnectionOptions(url: rig.url), size: 1, logger: Logger(label: "benchmarks"))
        let rows = try await pool.execute(
            Query(
                Statement(
                    """
                    SELECT data ->> 'notification', 1000 * extract(epoch FROM appended_at)::float8 FROM bus.events
                    WHERE type = 'push.notification.received'
                    """)))
        await pool.close()
        return try rows.decode((String, Double).self).compactMap { id, sent in arrived[id].map { $0.at - sent } }
    }

    private func resident(_ rig: PushRig) throws -> Double {
        guard let bytes = ThisProcess.resident(of: "\(rig.service.pid)") else {
            throw ToolFailed(description: "the memory of the process can't be read")
        }
        return bytes
    }
}

/// The arrival of a notification and the time at which its provider sent it, in milliseconds since 1970.
private struct Arrival {
    let at: Double
    let sentAt: Double
}

/// The first arrival of each notification.
private final class Arrivals: Sendable {
    private let found = Mutex<[String: Arrival]>([:])

    var all: [String: Arrival] { found.withLock { $0 } }

    func add(_ notification: JSON, at time: Double) {
        let id = notification["id"]?.string ?? ""
        let arrival = Arrival(at: time, sentAt: notification["payload"]?["sentAt"]?.double ?? .nan)
        found.withLock { $0[id] = $0[id] ?? arrival }
    }
}
