import AsyncHTTPClient
import EventLog
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import Postgres
import Records
import TestSupport
import Timeline

/// Measures the queries of operators and dashboards over a log of millions of events, one after the other over HTTP.
///
/// The report includes the cheapest query, and all queries again while the oldest day is dropped.
struct OperatorQueries {
    let events: Int
    /// The number of queries of each kind.
    private let questions = 300

    func run() async throws {
        Report.heading("Queries to ops over \(events) events")
        let log = try await FilledLog.make(events: events)
        try await log.waitForCounts()
        try await log.checkCounts()
        let http = HTTPClient()
        let floor = try await ask(http, log, "the clock (no events)") { _ in "/v1/clock" }
        for kind in Kind.allCases { try await ask(http, log, kind.rawValue, floor: floor) { kind.path(&$0) } }
        try await dropADay(log, http)
        try await log.checkCounts()
        try await http.shutdown()
        try await log.stop()
    }

    private enum Kind: String, CaseIterable {
        case device = "events of a device"
        case type = "events of a common type"
        case rare = "events of a rare type"
        case never = "events of a type without events"
        case time = "events of ten minutes"
        case all = "events of a device, type and ten minutes"
        case typeAndTime = "events of a rare type in an hour"
        case timeline = "a device's timeline"
        case minutes = "statistics, an hour by minutes"
        case days = "statistics, four days by hours"
        case consumers = "consumer lag"

        func path(_ random: inout SplitMix64) -> String {
            let device = "device-\(Int.random(in: 0..<FilledLog.Crowd().devices, using: &random))"
            func during(_ minutes: Int64) -> String {
                let age = Int64.random(in: 1...(Int64(FilledLog.days) - 1) * 86_400_000, using: &random)
                let since = RealClock().now - .milliseconds(age)
                return "since=\(since)&until=\(since + .minutes(minutes))"
            }
            let common = "lifecycle.app.woken", rare = "transfer.task.completed"
            return switch self {
            case .device: "/v1/events?device=\(device)"
            case .type: "/v1/events?type=\(common)"
            case .rare: "/v1/events?type=\(rare)&limit=\(Int.random(in: 10...100, using: &random))"
            case .never: "/v1/events?type=lifecycle.device.revoked"
            case .time: "/v1/events?\(during(10))"
            case .all: "/v1/events?device=\(device)&type=\(common)&\(during(10))"
            case .typeAndTime: "/v1/events?type=\(rare)&\(during(60))"
            case .timeline: "/v1/devices/\(device)/timeline"
            case .minutes: "/v1/stats?interval=60"
            case .days:
                "/v1/stats?interval=3600&since=\(RealClock().now - .days(Int64(FilledLog.days)))&until=\(RealClock().now)"
            case .consumers: "/v1/consumers"
            }
        }
    }

    /// - Returns: the median, in milliseconds.
    @discardableResult
    private func ask(
        _ http: HTTPClient, _ log: FilledLog, _ name: String, floor: Double? = nil,
        _ path: (inout SplitMix64) -> String
    ) async throws -> Double {
        let took = try await log.times(http, questions, path)
        let p99 = took[took.count * 99 / 100]
        if let floor { Report.figure("\(name), p50 ÷ the clock's", median(took) / floor, "") }
        Report.figure("\(name), p50", median(took), "ms")
        Report.bound("\(name), p99", p99, "ms", limit: 50)
        return median(took)
    }

    /// Drops the oldest day while one connection appends and another sends queries.
    private func dropADay(_ log: FilledLog, _ http: HTTPClient) async throws {
        var logger = Logger(label: "benchmarks")
        logger.logLevel = .error
        // No worker holds these partitions, because `lifecycle` has read them.
        _ = try await log.pool.execute(
            Query(
                Statement(
                    "UPDATE bus.cursors AS c SET log_offset = p.head FROM bus.partitions AS p WHERE p.partition = c.partition"
                )))
        let maintenance = LogMaintenance(pool: log.pool, retentionDays: FilledLog.days - 2, logger: logger)
        let before = try await appends(log, 200)
        let dropping = Task { () -> (days: [String], seconds: Double) in
            let begun = ContinuousClock.now
            let round = try await maintenance.round()
            return (round?.dropped ?? [], begun.duration(to: .now) / .seconds(1))
        }
        let isOver = Signal<Void>()
        Task {
            _ = try? await dropping.value
            isOver.fire()
        }
        var during: [Double] = []
        var questions: [Double] = []
        repeat {
            during += try await appends(log, 10)
            questions.append(try await log.time(http, "/v1/stats?interval=60"))
        } while !isOver.hasFired
        let (days, seconds) = try await dropping.value
        guard !days.isEmpty else { throw ToolFailed(description: "no day was dropped") }
        Report.figure("a day of \(events / FilledLog.days) events dropped in", seconds, "s")
        Report.figure("append before the drop, median", median(before), "ms")
        Report.figure("append during the drop, median", median(during), "ms")
        Report.figure("append during the drop, longest", during.max() ?? .nan, "ms")
        Report.figure("statistics meanwhile, longest", questions.max() ?? .nan, "ms")
        let gone = try await http.execute(
            HTTPClientRequest(
                url: log.address + "/v1/devices/device-1/state?service=lifecycle&at=2020-01-01T00:00:00.000Z"),
            timeout: .seconds(60))
        Report.progress("a query before the start of the log returns \(gone.status.code)")
        try await eventually(within: 600, describe: "all events are counted") { try await log.uncounted() == 0 }
        try await eventually(within: 60, describe: "the counts of the dropped day are removed") {
            try await log.pool.execute(
                Query(
                    Statement(
                        "SELECT count(*)::int8 FROM ops.counts WHERE day < (SELECT min(day) FROM bus.days() WHERE is_attached)"
                    ), rowsExpected: 1))[0].decode(Int.self, at: 0) == 0
        }
    }

    /// - Returns: the duration of each query, in milliseconds.
    private func appends(_ log: FilledLog, _ count: Int) async throws -> [Double] {
        let append = Statement(
            """
            WITH moved AS (UPDATE bus.partitions SET head = head + 1 WHERE partition = $1 RETURNING head)
            INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, time, correlationid, data)
            SELECT $1, head, current_date, gen_random_uuid(), 'lifecycle', 'lifecycle.app.woken', 1, 'device:device-1',
                (extract(epoch FROM now()) * 1000)::int8, gen_random_uuid(), '{"reason":"push"}' FROM moved
            """)
        var took: [Double] = []
        for number in 0..<count {
            let begun = ContinuousClock.now
            _ = try await log.pool.execute(Query(append, [.int4(Int32(number % FilledLog.partitions))]))
            took.append(begun.duration(to: .now) / .milliseconds(1))
        }
        return took
    }
}
