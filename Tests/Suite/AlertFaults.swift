import AsyncHTTPClient
import Contracts
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import Records
import TestSupport
import Testing

/// Faults of a running suite, and the alerts that they raise.
struct AlertFaults {
    static let ofBusyPool = [#"PoolExhausted{job="ops"}"#, #"LatencyBudgetBurns{job="ops"}"#]
    static let ofOutage: [String] = jobs.flatMap { job in
        [
            #"DatabaseFailing{job="\#(job)"}"#, #"CheckFailing{job="\#(job)",check="listener"}"#,
            #"RequestsFail{job="\#(job)"}"#, #"AvailabilityBudgetBurns{job="\#(job)"}"#,
        ]
    }
    /// Those of faults that the test does not repair.
    private static let lasting = ["OldDaysStay", "ErasureWaits", #"CertificateExpires{job="push",port="apns"}"#]
    static let together: [String] =
        lasting + [
            "StorageAlmostFull", #"SweepRefused{folder="uploads"}"#, #"QuotaReached{quota="uploads"}"#,
            #"CredentialsRefused{job="push"}"#, #"DevicesParked{job="fetch"}"#, #"PartitionsHalted{job="fetch"}"#,
            #"CheckFailing{job="fetch",check="waiting_partitions"}"#, #"PartitionsStuck{job="lifecycle"}"#,
            #"CheckFailing{job="lifecycle",check="waiting_partitions"}"#, #"CommitsFail{job="lifecycle"}"#,
        ]
    static let ofDeaths: [String] =
        lasting + [
            #"ServiceDown{job="fetch",instance="fetch:8082"}"#, #"ServiceAbsent{job="transfer"}"#,
            #"ConsumerBehind{consumer="fetch"}"#, #"ConsumerStalled{consumer="fetch"}"#,
            #"ConsumerBehind{consumer="transfer"}"#, #"ConsumerStalled{consumer="transfer"}"#,
        ]
    static let ofSilence = jobs.map { #"ServiceAbsent{job="\#($0)"}"# }
    static var all: [String] { ofBusyPool + ofOutage + together + ofDeaths + ofSilence }

    private static let jobs = SuiteService.allCases.map(\.rawValue)
    /// The default of the services.
    private static let partitions = 16
    /// A device without other devices in its partition.
    static let quiet = "quiet"

    let suite: RunningSuite
    let scrapes: AlertScrapes

    // MARK: Locks

    /// Holds a lock in a session of its own, until ``release()``.
    private func hold(_ lock: String) async {
        _ = try? await suite.cluster.sql("BEGIN; \(lock); SELECT pg_sleep(120)", database: suite.database)
    }

    /// Waits until the lock is held: the session then sleeps.
    func waitUntilHeld() async throws {
        try await eventually(describe: "the lock is held") {
            try await count("FROM pg_stat_activity WHERE wait_event = 'PgSleep'") > 0
        }
    }

    /// Ends the session with the lock.
    func release() async throws {
        try await sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
    }

    /// Holds the lock that all appends to the partition of the quiet device need.
    func holdPartition() async {
        await hold("SELECT FROM bus.partitions WHERE partition = \(place(of: Self.quiet)) FOR UPDATE")
    }

    /// Sends a command to the quiet device, again and again until it succeeds.
    func changeConditions() async throws {
        let path = "/v1/devices/\(Self.quiet)/conditions"
        try await suite.call(.PATCH, .lifecycle, path, ["battery": ["level": 0.5]])
    }

    /// Waits until commits of the held partition have failed.
    func waitForFailedCommits() async throws {
        let before = try await value("dormouse_commits_failed_total", of: .lifecycle)
        try await eventually(describe: "two commits fail") {
            try await value("dormouse_commits_failed_total", of: .lifecycle) >= before + 2
        }
    }

    /// Statements of `ops` wait for a lock, so its requests wait for a connection.
    func occupyPool() async throws {
        async let held: Void = hold("LOCK TABLE ops.known_devices")
        try await waitUntilHeld()
        async let answers = statuses(of: 30)
        try await eventually(describe: "requests wait for a connection") {
            try await value("dormouse_database_waiting", of: .ops) >= 20
        }
        // From now on, they wait for more seconds together than a scrape interval has.
        try await eventually(describe: "a statement has waited for 2 s") {
            let old = "wait_event_type = 'Lock' AND clock_timestamp() - query_start > '2 s'"
            return try await count("FROM pg_stat_activity WHERE \(old)") > 0
        }
        try await release()
        await held
        let answered = try await answers
        #expect(answered == Array(repeating: 200, count: 30))
    }

    /// Sends requests to `ops` at the same time, and returns the status of each.
    private func statuses(of count: Int) async throws -> [Int] {
        try await withParallelClient { client in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<count {
                    group.addTask { [suite] in
                        let request = suite.request(.GET, .ops, "/v1/devices")
                        let answer = try await client.execute(request, timeout: .seconds(60))
                        _ = try await answer.body.collect(upTo: 1 << 20)
                        return Int(answer.status.code)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
    }

    // MARK: Data

    /// Creates the table of a day that retention should have dropped three days ago.
    func makeOldDay() async throws {
        try await sql(
            """
            DO $$ DECLARE old date := current_date - 33; BEGIN
                EXECUTE format('CREATE TABLE bus.events_%s PARTITION OF bus.events FOR VALUES FROM (%L) TO (%L)',
                    to_char(old, 'YYYYMMDD'), old, old + 1);
            END $$
            """)
    }

    /// Requests an erasure that waits for `push`, two hours ago.
    func delayErasure() async throws {
        try await sql(
            """
            INSERT INTO bus.erasures (partition, key, log_offset, requested_at, waits_for)
            VALUES (0, 'device:erased', 1000000, clock_timestamp() - interval '2 hours', 'consumer push')
            """)
    }

    /// Registers two devices whose states `fetch` can't read: one is malformed, and one is of a newer version.
    func parkAndHalt() async throws {
        let devices = [(name: "broken", version: 1), (name: "future", version: 1000)]
        try #require(Set((devices.map(\.name) + [Self.quiet]).map(place(of:))).count == 3)
        for device in devices {
            try await sql(
                """
                INSERT INTO "fetch".states
                    (partition, key, state, machine_version, version, event_count, decided_at)
                VALUES (\(place(of: device.name)), 'device:\(device.name)', '\\xffff', \(device.version), 1, 1, 0)
                """)
            try await suite.call(.PUT, .lifecycle, "/v1/devices/\(device.name)", ["profile": "ios15"])
        }
    }

    /// Appends 10,001 events of two minutes ago, which only living services read, and waits until `ops` reports it.
    func appendUnreadEvents() async throws {
        let place = place(of: Self.quiet)
        try await sql(
            """
            WITH moved AS (
                UPDATE bus.partitions SET head = head + 10001, day = current_date WHERE partition = \(place)
                RETURNING head)
            INSERT INTO bus.events
                (partition, log_offset, day, id, source, type, version, key, time, correlationid, data, appended_at)
            SELECT \(place), head - 10001 + n, current_date, gen_random_uuid(), 'other', 'other.thing.pinged', 1,
                'device:ping', extract(epoch FROM clock_timestamp()) * 1000, gen_random_uuid(), '{}',
                clock_timestamp() - interval '2 minutes'
            FROM moved, generate_series(1, 10001) AS n
            """)
        try await eventually(within: 90, describe: "ops reports the unread events, and has counted all") {
            for dead in ["fetch", "transfer"] {
                let lag = try await value(#"dormouse_consumer_lag{consumer="\#(dead)"}"#, of: .ops)
                let age = try await value(#"dormouse_consumer_age_seconds{consumer="\#(dead)"}"#, of: .ops)
                guard lag > 10_000, age > 60 else { return false }
            }
            for living in ["lifecycle", "push"] {
                let lag = try await value(#"dormouse_consumer_lag{consumer="\#(living)"}"#, of: .ops)
                guard lag == 0 else { return false }
            }
            return try await value("dormouse_events_uncounted", of: .ops) == 0
        }
    }

    // MARK: Files and requests

    /// Replaces a certificate by one that expires in two days.
    func shorten(_ certificate: PEMCertificate) async throws {
        let new = try await PEMCertificate.make(days: 2)
        try new.replaceKey(of: certificate)
        try new.replaceCertificate(of: certificate)
    }

    /// Starts a replica of `transfer` with less space than it reserves, and with files to which nothing refers.
    func fillDisk() async throws -> (process: ChildProcess, address: String) {
        let content = try suite.file("content")
        for number in 1...21 {
            let file = "\(content)/uploads/leftover-\(number)"
            try Data("x".utf8).write(to: URL(fileURLWithPath: file))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -7200)], ofItemAtPath: file)
        }
        var settings = suite.settings(of: .transfer)
        settings["OPERATOR_KEY_FILE"] = try suite.file("operator-keys")
        settings["DATA_DIRECTORY"] = content
        settings["DATA_RESERVE"] = "\(1 << 50)"
        let (process, port) = try await ChildProcess.serve("transfer", settings: settings)
        return (process, "http://127.0.0.1:\(port)")
    }

    /// Sends more wrong keys than an alert allows in a scrape interval.
    func refuseCredentials() async throws {
        for _ in 1...200 { _ = try await suite.send(.GET, .push, Witness.readPath(.push), as: "wrong") }
    }

    /// A device sends more bytes than it may store.
    func exceedQuota() async throws {
        let device = try await suite.call(.PUT, .lifecycle, "/v1/devices/full", ["profile": "ios15"])
        let token = try #require(device.json["token"]?.string)
        let headers = ["tus-resumable": "1.0.0", "upload-length": "1000"]
        try await eventually(describe: "transfer refuses the upload") {
            let answer = try await suite.send(.POST, .transfer, "/files", as: token, headers: headers)
            return answer.status == 507 && answer.json["code"]?.string == "upload_quota_exceeded"
        }
    }

    /// Waits until the metrics show all faults that last.
    func waitUntilVisible(_ replica: String) async throws {
        try await scrapes.wait(for: "dormouse_log_overdue_seconds 259200", at: suite.address(.ops))
        try await eventually(describe: "ops reports the erasure") {
            try await value("dormouse_erasure_age_seconds", of: .ops) > 3600
        }
        try await scrapes.wait(
            for: "dormouse_devices_parked 1", "dormouse_partitions_halted 1",
            #"dormouse_check_failing{check="waiting_partitions"} 1"#, at: suite.address(.fetch))
        try await scrapes.wait(
            for: "dormouse_partitions_stuck 1", #"dormouse_check_failing{check="waiting_partitions"} 1"#,
            at: suite.address(.lifecycle))
        try await scrapes.wait(
            for: "dormouse_storage_reserve_bytes \(1 << 50)",
            #"dormouse_transfer_sweep_refused{folder="uploads"} 21"#, at: replica)
        let soon = Date(timeIntervalSinceNow: 14 * 86_400).timeIntervalSince1970
        try await eventually(describe: "push uses the new certificate") {
            try await value(#"dormouse_certificate_expires_timestamp_seconds{port="apns"}"#, of: .push) < soon
        }
        try await eventually(describe: "transfer reports the free space") {
            try await scrapes.metrics(of: replica).contains("\ndormouse_storage_free_bytes ")
        }
    }

    /// Sends a silent notification over HTTP/2 to a connected device, and waits until it is delivered and counted.
    func notify(trusting certificate: PEMCertificate) async throws {
        let phone = "/v1/devices/phone"
        let app = "\(phone)/apps/\(Provider.app)"
        try await suite.call(.PUT, .lifecycle, phone, ["profile": "ios18"])
        try await suite.call(.PUT, .lifecycle, app, ["backgroundModes": ["remote-notification"]])
        let launched = try await suite.call(.POST, .lifecycle, app + "/transitions", ["event": "launch"])
        let registered = try await suite.call(
            .PUT, .push, app + "/registration", ["environment": "sandbox"], after: launched.position)
        let token = try #require(registered.json["token"]?.string)
        let stream = try await suite.stream(.push, phone + "/notifications")
        let provider = try await Provider(suite)
        var configuration = HTTPClient.Configuration()
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(certificate.chainFile)
        configuration.tlsConfiguration = tls
        try await HTTPClient.withHTTPClient(configuration: configuration) { client in
            var request = HTTPClientRequest(url: "\(suite.apnsAddress)/3/device/\(token)")
            request.method = .POST
            request.headers = [
                "authorization": "bearer \(provider.token)", "apns-topic": Provider.app,
                "apns-push-type": "background", "apns-priority": "5",
            ]
            request.body = .bytes(ByteBuffer(string: #"{"aps":{"content-available":1}}"#))
            let answer = try await client.execute(request, timeout: .seconds(60))
            #expect(answer.status == .ok)
        }
        _ = try await stream.take("the notification")
        try await eventually(describe: "the notification is counted") {
            try await value(#"dormouse_push_notifications_total{status="Delivered"}"#, of: .push) == 1
        }
    }

    // MARK: Observations

    /// Returns the value of a series of a service; 0 if it has none.
    private func value(_ series: String, of service: SuiteService) async throws -> Double {
        let lines = try await scrapes.metrics(of: suite.address(service)).split(separator: "\n")
        let line = lines.first { $0.hasPrefix(series + " ") }
        return line.flatMap { Double($0.dropFirst(series.count + 1)) } ?? 0
    }

    private func place(of device: String) -> Int { AggregateKey.device(device).partition(of: Self.partitions) }

    @discardableResult
    private func sql(_ statement: String) async throws -> String {
        try await suite.cluster.sql(statement, database: suite.database)
    }

    private func count(_ rows: String) async throws -> Int {
        let text = try await sql("SELECT count(*) \(rows)")
        return Int(text.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
    }
}
