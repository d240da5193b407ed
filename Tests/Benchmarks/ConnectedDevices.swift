import EventLog
import Foundation
import Logging
import NIOHTTP1
import Postgres
import Records
import Synchronization
import TestSupport

/// Measures 5,000 devices connected to one process: the memory of each, and the time from the log to the device.
struct ConnectedDevices {
    let devices: Int
    let seconds: Int
    /// Notifications per second, well below the capacity of the process, so that no queue adds to the latency.
    private let rate = 400

    func run() async throws {
        Report.heading("\(devices) connected devices")
        let rig = try await PushRig.start()
        Report.progress("registering \(devices) devices")
        let tokens = try await rig.makeDevices(devices)
        let idle = try resident(rig)
        let arrivals = Moments()
        let count = Tally()
        try await withThrowingTaskGroup(of: Void.self) { group in
            let opened = Tally()
            for number in 0..<devices {
                group.addTask {
                    try await rig.follow(device: number, opened: opened) { id in
                        let now = Date().timeIntervalSince1970 * 1000
                        arrivals.all.withLock { $0[id] = $0[id] ?? now }
                        count.add()
                    }
                }
                // The backlog of a listening socket limits concurrent connects.
                if number % 100 == 99 { try await opened.reaches(number + 1 - 100) }
            }
            try await opened.reaches(devices)
            let open = try resident(rig)
            Report.figure("memory a connected device", (open - idle) / Double(devices) / 1024, "KB")
            let sent = try await notify(rig, tokens)
            try await withTimeout(seconds: 60, "the last notification") { try await count.reaches(sent) }
            try await report(rig, arrivals.all.withLock { $0 }, sent)
            group.cancelAll()
            while let outcome = await group.nextResult() {
                if case .failure(let error) = outcome, !(error is CancellationError) { throw error }
            }
        }
        try await rig.stop()
    }

    private func notify(_ rig: PushRig, _ tokens: [String]) async throws -> Int {
        let (workers, total) = (16, rate * seconds)
        let began = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<workers {
                group.addTask {
                    for number in stride(from: worker, to: total, by: workers) {
                        try await Task.sleep(until: began + .seconds(Double(number) / Double(rate)))
                        try await rig.send(
                            .POST, "\(rig.push)/3/device/\(tokens[number % tokens.count])",
                            ["aps": ["alert": "hello"]],
                            ["authorization": "bearer \(rig.bearer)", "apns-topic": PushRig.app])
                    }
                }
            }
            try await group.waitForAll()
        }
        return total
    }

    private func report(_ rig: PushRig, _ arrivals: [String: Double], _ sent: Int) async throws {
        let pool = ConnectionPool(try ConnectionOptions(url: rig.url), size: 1, logger: Logger(label: "benchmarks"))
        let rows = try await pool.execute(
            Query(
                Statement(
                    """
                    SELECT data ->> 'notification', 1000 * extract(epoch FROM appended_at)::float8 FROM bus.events
                    WHERE type = 'push.notification.received'
                    """)))
        let delays = try rows.decode((String, Double).self).compactMap { id, sent in arrivals[id].map { $0 - sent } }
            .sorted()
        await pool.close()
        func percentile(_ share: Double) -> Double {
            delays.isEmpty ? .nan : delays[min(delays.count - 1, Int(Double(delays.count) * share))]
        }
        Report.figure("notifications", Double(sent) / Double(seconds), "per second")
        Report.bound("notifications lost", Double(sent - delays.count), "", limit: 0)
        Report.figure("accepted to device, p50", percentile(0.5), "ms")
        Report.figure("accepted to device, p99", percentile(0.99), "ms")
    }

    private func resident(_ rig: PushRig) throws -> Double {
        guard let bytes = ThisProcess.resident(of: "\(rig.service.pid)") else {
            throw ToolFailed(description: "the memory of the process can't be read")
        }
        return bytes
    }
}

/// The first arrival of each notification, in milliseconds since 1970.
private final class Moments: Sendable {
    let all = Mutex<[String: Double]>([:])
}
