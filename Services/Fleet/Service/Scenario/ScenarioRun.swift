import Contracts
import Records
public import Scenarios
import Synchronization
public import Timeline

/// A scenario in a running suite.
///
/// Where the suite has virtual time, the run freezes its clock and moves it from one action or deadline to the next one.
/// Otherwise the scenario runs in real time: it begins today, and skips what is past.
public final class ScenarioRun: Sendable {
    /// The progress of a run.
    public struct Progress: Sendable {
        /// The suite time since the beginning of the scenario.
        public var done = Interval.zero
        public var duration = Interval.zero
        public var devices = 0
        public var isVirtual = false
        /// The beginning of the scenario; nil until all devices have begun.
        public var begin: Instant?
        /// Why the run ended early; nil at the end of the scenario.
        public var endReason: EndReason?

        /// The first instant that the run has not reached; nil until the scenario begins.
        public var reached: Instant? { begin.map { $0 + done } }
    }

    /// Why a run ended early.
    public enum EndReason: Sendable, Equatable {
        case interrupted
        /// The time of ``ScenarioOptions/limit`` was over.
        case limit
    }

    public let statistics = RunStatistics()
    let scenario: Scenario
    let options: ScenarioOptions
    let client: SuiteClient
    let run: String
    let recorder: any ScenarioRecorder
    let tokens: TokenList
    /// Nil if the scenario kills no service.
    let serviceFaults: ServiceFaults?
    private let state = Mutex(Progress())

    /// - Parameters:
    ///   - run: a prefix that makes the idempotency keys of this run unique.
    ///   - recorder: receives what happens.
    /// - Throws: ``FleetError`` for invalid options or missing addresses.
    public init(
        _ scenario: Scenario, _ options: ScenarioOptions, _ endpoints: Endpoints, run: String,
        recorder: any ScenarioRecorder
    ) throws(FleetError) {
        try options.validate()
        for service in [ServiceName.lifecycle, .push] where endpoints.services[service] == nil {
            throw FleetError("the address of \(service.rawValue) is missing: give --\(service.rawValue) or --endpoints")
        }
        guard endpoints.ops != nil else {
            throw FleetError("the address of ops is missing: give --ops or --endpoints")
        }
        if !scenario.provider.sends.isEmpty, endpoints.apns == nil {
            throw FleetError("the pushes of the scenario need the address of apns: give --apns or --endpoints")
        }
        serviceFaults = try Self.serviceFaults(of: scenario, options)
        self.scenario = scenario
        self.options = options
        self.run = run
        self.recorder = recorder
        tokens = try TokenList(file: options.tokens, webhook: options.webhook)
        client = try SuiteClient(endpoints, connections: options.concurrency, streams: scenario.devices.count + 2)
    }

    /// The current progress.
    public var progress: Progress { state.withLock { $0 } }

    func note(_ change: (inout Progress) -> Void) { state.withLock { change(&$0) } }

    /// Runs to the end of the scenario, or until `stop` returns.
    ///
    /// - Throws: ``FleetError`` if the suite cannot run the scenario, or `CancellationError` if `stop` returned before the
    ///   devices were registered.
    /// - Returns: the first instant that the run has not reached.
    public func live(until stop: @escaping @Sendable () async -> Void) async throws -> Instant {
        do {
            let end = try await restoringServices {
                try await withThrowingTaskGroup(of: Instant?.self) { group in
                    group.addTask {
                        await stop()
                        return nil
                    }
                    group.addTask { try await self.conduct() }
                    let first = try await group.next() ?? nil
                    group.cancelAll()
                    if let first { return first }
                    while let next = try await group.next() { if let next { return next } }
                    throw CancellationError()
                }
            }
            await client.close()
            return end
        } catch {
            await client.close()
            throw error
        }
    }

    /// Runs a body, and starts the services that are killed at its end. A cancelled task starts nothing, so another one does.
    private func restoringServices(_ body: () async throws -> Instant) async throws -> Instant {
        let result: Result<Instant, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        let serviceFaults = serviceFaults
        try await Task { try await serviceFaults?.endAll() }.value
        return try result.get()
    }

    private func conduct() async throws -> Instant {
        guard let ops = client.endpoints.ops else { throw FleetError("the address of ops is missing") }
        try await Setup(caller: caller, fleet: options.fleet, run: run).enter()
        let reading = try await SuiteOperations.read(client, address: ops)
        let plan = ScenarioPlan(scenario.dated(for: reading), seed: options.seed)
        let names = (0..<plan.scenario.devices.count).map { ScenarioWorld.name(of: $0, fleet: options.fleet) }
        try await requireNewDevices(names)
        var provider: ScenarioProvider?
        if let apns = client.endpoints.apns, case .sends(let sends) = plan.scenario.provider, !sends.isEmpty {
            let made = ScenarioProvider(client, statistics, apns: apns, sends: sends)
            try await made.register(caller, key: "\(run)-provider")
            provider = made
        }
        let world = ScenarioWorld(
            plan: plan, fleet: options.fleet, client: client, statistics: statistics, run: run, provider: provider,
            tokens: tokens, streams: NotificationStreams(client, statistics), recorder: recorder)
        recorder.begin(plan, names: names)
        let devices = plan.scenario.devices.count
        note {
            $0.duration = plan.end - plan.begin
            $0.devices = devices
            $0.isVirtual = reading.isVirtual
        }
        return try await withThrowingTaskGroup(of: Instant?.self) { group in
            group.addTask {
                await world.streams.run()
                return nil
            }
            if options.webhook != nil {
                group.addTask {
                    while !Task.isCancelled {
                        // The next round sends what an interrupted one did not.
                        try? await self.tokens.post(self.client, self.statistics)
                        try? await Task.sleep(for: .seconds(1))
                    }
                    return nil
                }
            }
            group.addTask {
                reading.isVirtual
                    ? try await self.runVirtual(world, ops: ops, reading) : try await self.runReal(world, ops: ops)
            }
            var end: Instant?
            while end == nil, let next = try await group.next() { end = next }
            group.cancelAll()
            guard let end else { throw CancellationError() }
            return end
        }
    }

    /// - Throws: ``FleetError`` if the scenario kills services and no command can.
    private static func serviceFaults(
        of scenario: Scenario, _ options: ScenarioOptions
    ) throws(FleetError) -> ServiceFaults? {
        guard let service = scenario.faults.compactMap(\.kill).first else { return nil }
        guard let command = options.killCommand else {
            throw FleetError(
                "the scenario kills \(service.rawValue), and fleet cannot end processes of the suite by itself: give "
                    + "--kill-command './deploy/fault --data DIR' for a suite of ./deploy/up, or remove the fault")
        }
        return ServiceFaults(command: command)
    }

    var caller: Caller { Caller(client: client, statistics: statistics, seed: options.seed ?? 1) }

    /// A device of an earlier run has a state, so the scenario would not begin as it says.
    private func requireNewDevices(_ names: [String]) async throws {
        guard let name = names.first else { return }
        let check = Call(.lifecycle, "GET", "/v1/devices/{device}", [name])
        if case .answered(200, _, _, _) = try await client.attempt(check) {
            throw FleetError("the suite has a device \(name) of an earlier run: give another --fleet")
        }
    }
}

extension Scenario {
    /// Returns the scenario with dates that the suite has not passed: the next day of the same weekday in virtual time,
    /// today in real time.
    fileprivate func dated(for reading: SuiteOperations.Reading) -> Scenario {
        var scenario = self
        if reading.isVirtual {
            while ScenarioPlan(scenario.empty).begin <= reading.now { scenario.start = scenario.start.later(by: 7) }
        } else {
            while ScenarioPlan(scenario.empty).begin + .days(1) <= reading.now {
                scenario.start = scenario.start.later(by: 1)
            }
        }
        return scenario
    }

    /// The scenario without sends and faults, whose plan has few members.
    private var empty: Scenario {
        var scenario = self
        scenario.provider = .sends([])
        scenario.faults = []
        return scenario
    }
}
