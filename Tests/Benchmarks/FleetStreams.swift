import AsyncHTTPClient
import Contracts
import EventLog
import Foundation
import Glibc
import Logging
import NIOCore
import NIOHTTP1
import Postgres
import Records
import Synchronization
import TestSupport

/// Measures 10,000 devices on the streams of their fleets from one process.
///
/// The figures are the memory of a device, as a ratio to its stored state, and the time from the log to the stream.
///
/// Each of the four fleets has four streams of four partitions. The user leaves and reopens an app on every device, and
/// each order must arrive exactly once.
struct FleetStreams {
    let devices: Int
    private let fleets = 4
    private let shares = 4
    private let partitions = 16
    private let workers = 64

    func run() async throws {
        Report.heading("\(devices) devices on fleet streams")
        let cluster = try await PrivateCluster.make(settings: ["shared_buffers": "256MB", "max_wal_size": "2GB"])
        let url = try await cluster.makeDatabase()
        let port = try freePort()
        try await ChildProcess.migrate("lifecycle", url)
        let client = FleetClient(base: "http://127.0.0.1:\(port)")
        let (first, _) = try await ChildProcess.serve("lifecycle", url, port: port, benchmarkSettings)
        try await everyDevice { device, fleet in
            let path = "/v1/devices/\(device)"
            try await client.send(.PUT, path, #"{"profile":"ios15","fleet":"\#(fleet)"}"#)
            try await client.send(.PUT, "\(path)/apps/app", "{}")
            try await client.send(.POST, "\(path)/apps/app/transitions", #"{"event":"launch"}"#)
        }
        first.signal(SIGTERM)
        _ = try await first.exit(within: 60)

        // Another process, which has no device in memory yet.
        let (service, _) = try await ChildProcess.serve("lifecycle", url, port: port, benchmarkSettings)
        let idle = try residentBytes(service)
        let arrivals = Arrivals(expected: 3 * devices)
        try await withThrowingTaskGroup(of: Void.self) { group in
            let opened = Tally()
            let began = ContinuousClock.now
            for number in 0..<fleets * shares {
                let share = (0..<partitions).filter { $0 % shares == number % shares }.map(String.init)
                let path = "/v1/fleets/fleet\(number / shares)/orders?partitions=\(share.joined(separator: ","))"
                group.addTask { try await client.follow(path, opened, arrivals) }
            }
            try await opened.reaches(fleets * shares)
            let opening = began.duration(to: .now)
            let open = try residentBytes(service)
            let (sending, took) = try await sendToAll(client, arrivals)
            let busy = try residentBytes(service)
            group.cancelAll()
            while let outcome = await group.nextResult() {
                if case .failure(let error) = outcome, !(error is CancellationError) { throw error }
            }
            try await report(
                url, arrivals, sending: sending, took: took, opening: opening,
                bytes: (idle: idle, open: open, busy: busy))
        }
        try await client.close()
        service.signal(SIGTERM)
        _ = try await service.exit(within: 60)
        try await cluster.destroy()
    }

    /// - Returns: the duration of the commands, and the time until the last order arrived.
    private func sendToAll(_ client: FleetClient, _ arrivals: Arrivals) async throws -> (Duration, Duration) {
        let began = ContinuousClock.now
        try await everyDevice { device, _ in
            for event in ["home", "open"] {
                try await client.send(
                    .POST, "/v1/devices/\(device)/apps/app/transitions", #"{"event":"\#(event)"}"#)
            }
        }
        let sending = began.duration(to: .now)
        try await withTimeout(seconds: 120) { try await arrivals.all.value() }
        return (sending, began.duration(to: .now))
    }

    private func everyDevice(
        _ body: @escaping @Sendable (_ device: String, _ fleet: String) async throws -> Void
    ) async throws {
        let (devices, workers, fleets) = (devices, workers, fleets)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<workers {
                group.addTask {
                    for number in stride(from: worker, to: devices, by: workers) {
                        try await body("fixture-\(number)", "fleet\(number % fleets)")
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func report(
        _ url: String, _ arrivals: Arrivals, sending: Duration, took: Duration, opening: Duration,
        bytes: (idle: Double, open: Double, busy: Double)
    ) async throws {
        let pool = ConnectionPool(try ConnectionOptions(url: url), size: 1, logger: Logger(label: "benchmarks"))
        let stored = try await pool.execute(
            Query(Statement("SELECT avg(octet_length(state))::float8 FROM lifecycle.states")))[0].decode(Double.self)
        let appended = try await pool.execute(
            Query(
                Statement(
                    """
                    SELECT partition::int8, log_offset, 1000 * extract(epoch FROM appended_at)::float8 FROM bus.events
                    WHERE type IN ('lifecycle.app.backgrounded', 'lifecycle.app.suspended', 'lifecycle.app.activated')
                    """)))
        var delays: [Double] = []
        var missing = 0
        for (partition, offset, time) in try appended.decode((Int, Int, Double).self) {
            let order = "\(partition):\(offset)"
            guard let arrived = arrivals.moments[order] else {
                missing += 1
                continue
            }
            delays.append(arrived - time)
        }
        await pool.close()
        delays.sort()
        func percentile(_ share: Double) -> Double {
            delays.isEmpty ? .nan : delays[min(delays.count - 1, Int(Double(delays.count) * share))]
        }
        let count = Double(devices)
        Report.figure("streams opened", Double(fleets * shares), "in \(opening.milliseconds) ms")
        Report.figure("commands", 2 * count / (sending / .seconds(1)), "per second")
        Report.figure("orders on the streams", Double(delays.count) / (took / .seconds(1)), "per second")
        Report.bound("orders lost", Double(missing), "", limit: 0)
        Report.bound("orders sent twice, or to another fleet", Double(arrivals.faults), "", limit: 0)
        Report.figure("append to arrival, p50", percentile(0.5), "ms")
        Report.figure("append to arrival, p99", percentile(0.99), "ms")
        Report.figure("stored state of a device", stored, "bytes")
        Report.figure("memory of a device with an open stream", (bytes.open - bytes.idle) / count, "bytes")
        Report.figure("memory of a device after commands to all", (bytes.busy - bytes.idle) / count, "bytes")
        Report.figure("memory of the process at the end", bytes.busy / 1_048_576, "MB")
        Report.bound(
            "memory of a device after commands ÷ state", (bytes.busy - bytes.idle) / count / stored, "", limit: 40)
    }

    private func residentBytes(_ process: ChildProcess) throws -> Double {
        guard let bytes = ThisProcess.resident(of: "\(process.pid)") else {
            throw ToolFailed(description: "the memory of the process can't be read")
        }
        return bytes
    }
}

/// The arrival of each order, and the number of duplicates.
private final class Arrivals: Sendable {
    private struct State {
        var moments: [String: Double] = [:]
        var faults = 0
    }

    private let state = Mutex(State())
    private let expected: Int
    /// Fires when all orders have arrived.
    let all = Signal<Void>()

    init(expected: Int) { self.expected = expected }

    /// The arrival of each order, in milliseconds since 1970.
    var moments: [String: Double] { state.withLock { $0.moments } }
    var faults: Int { state.withLock { $0.faults } }

    /// - Parameter isOwn: whether the order belongs to the stream's fleet.
    func note(_ order: String, isOwn: Bool) {
        let now = Date().timeIntervalSince1970 * 1000
        let count = state.withLock { state in
            if !isOwn || state.moments.updateValue(now, forKey: order) != nil { state.faults += 1 }
            return state.moments.count
        }
        if count == expected { all.fire() }
    }
}

private struct FleetClient: Sendable {
    let base: String
    /// The shared client opens at most eight connections to a host, and each stream needs one.
    private let http: HTTPClient

    init(base: String) {
        self.base = base
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
        http = HTTPClient(configuration: configuration)
    }

    func close() async throws { try await http.shutdown() }

    func send(_ method: HTTPMethod, _ path: String, _ body: String) async throws {
        var request = HTTPClientRequest(url: base + path)
        request.method = method
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .bytes(ByteBuffer(string: body))
        let response = try await http.execute(request, timeout: .seconds(60))
        let text = try await response.body.collect(upTo: 1 << 20)
        guard (200..<300).contains(response.status.code) else {
            throw ToolFailed(description: "\(method) \(path): \(response.status) \(String(buffer: text))")
        }
    }

    /// Reads a fleet's stream until it is cancelled, without a new connection after an error: a lost order stays
    /// missing.
    func follow(_ path: String, _ opened: Tally, _ arrivals: Arrivals) async throws {
        let request = HTTPClientRequest(url: base + path)
        let response = try await http.execute(request, timeout: .minutes(20))
        guard response.status == .ok else { throw ToolFailed(description: "\(path): \(response.status)") }
        let fleet = path.split(separator: "/")[2].dropFirst("fleet".count)
        var lines = ByteBuffer()
        var isOpen = false
        for try await part in response.body {
            lines.writeImmutableBuffer(part)
            while let end = lines.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
                let line = lines.readString(length: end - lines.readerIndex) ?? ""
                lines.moveReaderIndex(forwardBy: 1)
                if !isOpen {
                    isOpen = true
                    opened.add()
                }
                guard line.hasPrefix("data: ") else { continue }
                let order = try JSON(parsing: Array(line.utf8.dropFirst(6)))
                let number = order["device"]?.string.flatMap { Int($0.dropFirst("fixture-".count)) } ?? -1
                arrivals.note(order["order"]?.string ?? "", isOwn: "\(number % 4)" == fleet)
            }
            lines.discardReadBytes()
        }
        throw ToolFailed(description: "\(path) ended")
    }
}

extension Duration {
    fileprivate var milliseconds: Int { Int(self / .milliseconds(1)) }
}
