import Contracts
import Machines
import OrderedCollections
import Records
import Testing
import TestSupport
import Timeline
import TransferMachine

/// Random lives of a device and its movers. A failure names its seed.
@Suite struct TransferProperties {
    @Test func anyLifeKeepsTheLaws() async throws {
        try await propertyTest(count: 60) { random in
            var life = RandomLife(random: random)
            for _ in 0..<300 {
                try life.step()
                try life.checkLaws()
            }
            try life.finishAll()
            try #require(try life.runtime.foldCheck().isEmpty, "the state is the fold of its events")
        }
    }

    @Test func pausesBetweenAttemptsGrowAndSpread() throws {
        var pauses: Set<Int64> = []
        for seed in 0..<40 {
            var life = RandomLife(random: SplitMix64(seed: UInt64(seed)))
            let last = try life.pausesOfFailures(8).map(\.milliseconds)
            for (index, pause) in last.enumerated() {
                let middle = Int64(1000 << index)
                #expect((middle * 3 / 4...middle * 5 / 4).contains(pause), "pause \(index + 1) is \(pause) ms")
            }
            pauses.insert(last[7])
        }
        #expect(pauses.count > 10)
    }
}

private struct RandomLife {
    static let key = AggregateKey.device("d")
    var random: SplitMix64
    var runtime: InMemoryRuntime<TransferMachine>
    var now = Instant(milliseconds: 1_750_000_000_000)
    var told = 0
    var device: TransferMachine { runtime.state(Self.key) }
    let seed: String

    init(random: SplitMix64) {
        self.random = random
        seed = String(self.random.next())
        runtime = InMemoryRuntime(policy: TransferPolicy(), seed: seed)
    }

    mutating func step() throws {
        now = now + .milliseconds(Int64.random(in: 0...20_000, using: &random))
        try runtime.advance(to: now)
        let before = device.binary
        do {
            if roll(3) == 0 { try deliver(happening()) } else { try runtime.submit(command(), to: Self.key, at: now) }
        } catch is TransferRefusal {
            try #require(device.binary == before, "a refusal changes nothing")
        }
    }

    func checkLaws() throws {
        let device = self.device
        if let next = device.nextDeadline { try #require(next > now) }
        for session in device.sessions.values {
            for task in session.tasks {
                switch task.state {
                case .running: try #require((task.attempt != nil) != (task.waiting != nil), "moves, or says why not")
                case .suspended, .completed: try #require(task.attempt == nil && task.waiting == nil)
                case .canceling: Issue.record("a task is cancelled in one step")
                }
                try #require(task.bytesReceived <= task.bytesExpected ?? .max)
                try #require(task.segments.map(\.epoch) == task.segments.map(\.epoch).sorted())
                try #require(task.attempt.map { $0.epoch == task.epoch } ?? true)
            }
            let finished = Set(session.tasks.filter { $0.state == .completed }.map(\.task))
            try #require(Set(session.untold).isSubset(of: finished))
            try #require(device.apps[session.app] != nil)
            try #require(session.tasks.count { $0.attempt != nil } <= 2, "at most two to the host")
        }
        try #require(TransferMachine(binary: device.binary)?.binary == device.binary)
    }

    /// Every transfer ends: at the latest when its time is over.
    mutating func finishAll() throws {
        now = now + .days(8)
        try runtime.advance(to: now)
        try #require(device.sessions.values.allSatisfy { !$0.hasUnfinishedTasks })
        try #require(device.nextDeadline == nil)
    }

    mutating func pausesOfFailures(_ count: Int) throws -> [Interval] {
        try deliver(LifecycleEvent.DeviceRegistered(registration: Registration(profile: .ios18)))
        try deliver(LifecycleEvent.AppInstalled(app: "a", manifest: Manifest()))
        try deliver(LifecycleEvent.AppLaunched(app: "a", callbacks: []))
        let place = TaskPlace(app: "a", session: "a-0", task: 1)
        try submit(.openSession(app: "a", session: "a-0", SessionConfiguration()))
        try submit(.download(app: "a", session: "a-0", DownloadRequest(url: "http://files.example/")))
        return try (1...count).map { epoch in
            let claim = AttemptClaim(place, epoch: epoch, mover: "m")
            try submit(.startAttempt(claim))
            try submit(.fail(claim, total: 0, .connectionLost))
            let retryAt = try #require(device.task(place)?.waitsUntil)
            defer { now = retryAt }
            try runtime.advance(to: retryAt)
            return retryAt - now
        }
    }

    private mutating func submit(_ command: TransferCommand) throws {
        try runtime.submit(command, to: Self.key, at: now)
    }

    private mutating func deliver(_ data: any EventData) throws {
        told += 1
        let id = DecisionIdentifiers.derived(seed, String(told))
        try runtime.deliver(
            Event(
                id: id, source: LifecycleEvent.source, type: type(of: data).type, version: 1, key: Self.key,
                app: data.app, time: now, correlation: id, causation: nil, traceparent: nil, data: data.jsonBytes))
    }

    private mutating func roll(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &random) }

    private mutating func happening() -> any EventData {
        let app = ["a", "b"][roll(2)]
        switch roll(14) {
        case 0: return LifecycleEvent.DeviceRegistered(registration: Registration(profile: .ios18))
        case 1: return LifecycleEvent.AppInstalled(app: app, manifest: Manifest())
        case 2, 3, 4: return LifecycleEvent.AppLaunched(app: app, callbacks: [])
        case 5: return LifecycleEvent.AppBackgrounded(app: app, cause: .home, callbacks: [], taskTime: .zero)
        case 6: return LifecycleEvent.AppSuspended(app: app)
        case 7:
            return LifecycleEvent.AppTerminated(
                app: app, callbacks: [], from: .suspended, reason: roll(2) == 0 ? .forceQuit : .crash)
        case 8: return LifecycleEvent.DevicePowered(power: roll(3) == 0 ? .off : .boot)
        case 9, 10:
            var conditions = Conditions()
            var network = Network()
            network.kind = NetworkKind.allCases[roll(3)]
            network.expensive = roll(4) == 0
            conditions.network = network
            var battery = Battery()
            battery.level = Double(roll(11)) / 10
            conditions.battery = battery
            return LifecycleEvent.ConditionsChanged(conditions: conditions)
        case 11:
            return LifecycleEvent.AppWoken(
                app: app, callbacks: [], deadline: now + .seconds(30), from: .suspended, limit: .seconds(30),
                reason: .transfer, request: app + "-0", wake: "w")
        case 12: return LifecycleEvent.WakeCompleted(app: app, reason: .transfer, request: app + "-0", wake: "w")
        default:
            if roll(6) == 0 { return LifecycleEvent.AppUninstalled(app: app) }
            return LifecycleEvent.WakeRefused(app: app, reason: .transfer, refusal: .forceQuit, request: app + "-0")
        }
    }

    private mutating func command() -> TransferCommand {
        let app = ["a", "b"][roll(2)]
        let id = "\(app)-\(roll(2))"
        let tasks = device.sessions[id]?.tasks ?? []
        let unfinished = tasks.filter { $0.state != .completed }
        let task = unfinished.randomElement(using: &random) ?? tasks.randomElement(using: &random)
        let place = TaskPlace(app: app, session: id, task: task?.task ?? 1)
        let claim = AttemptClaim(
            place, epoch: (task?.epoch ?? 1) - (roll(8) == 0 ? 1 : 0), mover: task?.attempt?.mover ?? "m\(roll(2))")
        let held = task?.bytesReceived ?? 0
        switch roll(16) {
        case 0, 1:
            var configuration = SessionConfiguration()
            configuration.httpMaximumConnectionsPerHost = 2
            configuration.isDiscretionary = roll(4) == 0
            configuration.allowsCellularAccess = roll(2) == 0
            configuration.sessionSendsLaunchEvents = roll(4) != 0
            return .openSession(app: app, session: id, configuration)
        case 2, 3:
            var request = DownloadRequest(url: "http://files.example/")
            if roll(4) == 0 { request.earliestBeginDate = now + .seconds(Int64(roll(60))) }
            request.priority = Double(roll(3)) / 2
            return .download(app: app, session: id, request)
        case 4: return roll(2) == 0 ? .suspend(place) : .resume(place)
        case 5: return roll(3) == 0 ? .cancel(place) : .resume(place)
        case 6: return roll(8) == 0 ? .invalidateSession(app: app, session: id, cancels: roll(2) == 0) : .resume(place)
        case 7, 8, 9: return .startAttempt(claim)
        case 10, 11:
            var head = ResponseHead()
            head.status = held > 0 && roll(3) > 0 ? 206 : 200
            head.etag = "\"\(roll(3))\""
            head.acceptsRanges = roll(4) > 0
            head.contentLength = head.status == 206 ? 1000 - held : 1000
            head.rangeStart = head.status == 206 ? held : nil
            head.completeLength = head.status == 206 ? 1000 : nil
            return .receiveResponse(claim, head)
        case 12: return .report(claim, total: min(1000, held + roll(500)))
        case 13: return .finish(claim, total: roll(3) == 0 ? held : 1000, sha256: "00")
        case 14: return .fail(claim, total: held, AttemptEnd.allCases[roll(AttemptEnd.allCases.count)])
        default: return .takeOver(claim)
        }
    }
}
