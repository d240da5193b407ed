import Contracts
import EventLog
import FetchCore
import Foundation
import RandomScenarios
import Machines
import OrderedCollections
import Postgres
import Records
import Runtime
import TestSupport
import Timeline

/// Measures the background refreshes of a million apps: the cost of waiting, and the rate of decisions.
///
/// All devices get a network at the same time, so all apps get time slots, with at most 1,000 wakes a second. Each due
/// refresh gets an answer as from `lifecycle`, and each end of a refresh makes `fetch` review all apps of the device.
struct FetchSchedules {
    let devices: Int
    let apps: Int
    let seconds: Int
    /// The number of devices that live through a week; all others are copies of them.
    private let models = 32
    private let batch = 500

    typealias Bench = MachineFixture<FetchMachine>

    func run() async throws {
        Report.heading("\(devices * apps) apps that fetch schedules, \(apps) on each of \(devices) devices")
        let fixture = try await Bench()
        let policy = Self.policy
        try await fixture.freeze(at: .monday)
        try await fill(fixture)
        let seconds = seconds
        var (fleet, plain) = try await fixture.running(policy) { _ in
            try await Task.sleep(for: .seconds(2))
            let cpu = ThisProcess.processorSeconds
            try await Task.sleep(for: .seconds(seconds))
            let idle = 100 * (ThisProcess.processorSeconds - cpu) / Double(seconds)
            let before = ThisProcess.residentBytes
            Report.figure("resident memory of the process without devices", before / 1_048_576, "MB")
            Report.bound("processor time while no refresh is due", idle, "% of one", limit: 10)
            let fleet = try await load(fixture)
            let memory = (ThisProcess.residentBytes - before) / Double(fleet.count)
            let stored = Double(fleet.storedBytes) / Double(fleet.count)
            Report.figure("stored state of a device", stored, "bytes")
            Report.figure("memory of a device", memory, "bytes")
            Report.figure("memory of a device ÷ stored state", memory / stored, "")
            return (fleet, try await LogAppends.pgbench(fixture, seconds: seconds))
        }
        try fleet.pass(processorSeconds: Double(seconds))
        let took = fleet.processorSeconds
        Report.figure("refreshes that came due", Double(fleet.refreshes), "")
        Report.figure("time that passed", Double((fleet.now - .monday).milliseconds) / 60_000, "minutes")
        Report.figure("decisions", Double(fleet.decisions) / took, "per second of one processor")
        Report.figure("events of the decisions", Double(fleet.events) / took, "per second of one processor")
        Report.figure("pgbench, events", plain, "per second")
        // PostgreSQL must insert a row for each decided event, with all processors. The ratio compares this rate with
        // the decisions of one processor.
        Report.ratio("events decided ÷ pgbench", Double(fleet.events) / took / plain, reach: 0.25)
        // The events `due`, `woken` and `completed`.
        Report.ratio("refreshes ÷ the ceiling's 1,000 a second", Double(fleet.decisions) / took / 3 / 1000, reach: 1)
    }

    private static var policy: FetchPolicy {
        var policy = FetchPolicy()
        policy.ceiling = 1000
        return policy
    }

    /// Devices without a network, whose apps want refreshes from Monday on. The user opens each app once a day, each at
    /// its own hour.
    private func lived() throws -> [Aggregate<FetchMachine>] {
        var random = SplitMix64(seed: 1)
        let names = (0..<apps).map { "com.example.app\($0)" }
        return try (0..<models).compactMap { number in
            let key = AggregateKey.device("model-\(number)")
            var runtime = InMemoryRuntime<FetchMachine>(policy: Self.policy, seed: "model")
            try runtime.begin(key, apps: names, at: .monday - .days(8))
            var offline = Conditions()
            offline.network = Network()
            offline.network?.kind = .none
            try runtime.tell(LifecycleEvent.ConditionsChanged(conditions: offline), of: key, at: .monday - .days(8))
            let hours = names.map { _ in Int64.random(in: 7...22, using: &random) }
            for day in 0..<7 {
                let habits = zip(names, hours).sorted { $0.1 < $1.1 }
                for (name, hour) in habits {
                    let time = Instant.monday - .days(Int64(7 - day)) + .hours(hour)
                    try runtime.open(name, key, at: time, for: .minutes(2))
                }
            }
            for name in names { try runtime.submit(.setInterval(app: name, .minimum), to: key, at: .monday) }
            return runtime.aggregates[key]
        }
    }

    /// Gives all apps time slots, and stores the states as the runtime does.
    private func fill(_ fixture: Bench) async throws {
        let insert = Statement(
            """
            INSERT INTO "fetch".states
                (partition, key, state, machine_version, version, event_count, decided_at, next_deadline)
            SELECT s.partition, s.key, s.state, $1, 0, 1, $2, s.due
            FROM unnest($3::int4[], $4::text[], $5::bytea[], $6::int8[]) AS s (partition, key, state, due)
            """)
        let models = try lived()
        let numbers = Array(0..<devices)
        var allocators = FetchFleet.allocators(Self.policy, Bench.partitions)
        var took = 0.0
        for start in stride(from: 0, to: devices, by: batch) {
            let part = numbers[start..<min(devices, start + batch)]
            let begun = ThisProcess.threadSeconds
            let fleet = try part.map { number in
                try FetchFleet.online(models[number % models.count], "d\(number)", Self.policy, &allocators)
            }
            took += ThisProcess.threadSeconds - begun
            let partitions = fleet.map { $0.key.partition(of: Bench.partitions) }
            _ = try await fixture.pool.execute(
                Query(
                    insert,
                    [
                        .int4(Int32(FetchMachine.version)), .int(Int(Instant.monday.milliseconds)),
                        .int4s(partitions.map(Int32.init)), .texts(fleet.map(\.key.description)),
                        .byteas(fleet.map(\.state.binary)),
                        .ints(fleet.map { $0.nextDeadline.map { Int($0.milliseconds) } }),
                    ], rowsExpected: fleet.count))
            if part.endIndex % 10_000 == 0 { Report.progress("\(part.endIndex) devices stored") }
        }
        try await fixture.cluster.sql("VACUUM ANALYZE \"fetch\".states", database: fixture.name)
        Report.figure("apps that get a time slot", Double(devices * apps) / took, "per second of one processor")
    }

    private func load(_ fixture: Bench) async throws -> FetchFleet {
        var fleet = FetchFleet(policy: Self.policy, partitions: Bench.partitions, at: .monday)
        fleet.reserve(devices)
        let states = StoredStates<FetchMachine> { try await fixture.pool.execute($0) }
        for partition in 0..<Bench.partitions {
            var last: AggregateKey?
            repeat {
                let page = try await states.page(of: partition, mentioning: "", after: last)
                for (key, state) in page.states { fleet.add(key, state) }
                last = page.last
            } while last != nil
        }
        return fleet
    }
}
