import Contracts
import RandomScenarios
import Machines
import OrderedCollections
import Records
import Testing
import MachineTesting
import Timeline
import TransferCore

/// Random scenarios of a device and its workers. A failure names its seed.
@Suite(.ownThread) struct TransferProperties {
    @Test func `every random scenario keeps the invariants`() async throws {
        try await propertyTest(count: 60) { random in
            var life = TransferLife(random)
            for _ in 0..<300 {
                try life.step()
                try life.checkLaws()
            }
            try life.finishAll()
            try #require(try life.runtime.foldCheck().isEmpty, "the state is the fold of its events")
        }
    }

    @Test func `the files of a device never exceed their quota`() async throws {
        try await propertyTest(count: 40) { random in
            var life = TransferLife(random, fileBytes: 1600)
            for _ in 0..<300 {
                try life.step()
                try #require(life.device.storedBytes <= 1600)
                try life.checkLaws()
            }
            try #require(try life.runtime.foldCheck().isEmpty, "the state is the fold of its events")
        }
    }

    @Test func `delays between attempts double with jitter`() throws {
        var pauses: Set<Int64> = []
        for seed in 0..<40 {
            var life = TransferLife(SplitMix64(seed: UInt64(seed)))
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

extension TransferLife {
    fileprivate func checkLaws() throws {
        let device = self.device
        if let next = device.nextDeadline { try #require(next > now) }
        for (_, session) in device.sessions {
            for task in session.tasks {
                switch task.state {
                case .running: try #require((task.attempt != nil) != (task.waiting != nil), "moves or has a reason")
                case .suspended, .completed: try #require(task.attempt == nil && task.waiting == nil)
                case .canceling: Issue.record("a task is cancelled in one step")
                }
                try #require((task.timeout?.until != nil) == (task.state == .running), "only running tasks time out")
                try #require(task.hasStarted || task.state != .running && task.attempts.isEmpty)
                try #require(task.bytesReceived <= task.bytesExpected ?? .max)
                try #require(task.segments.map(\.epoch) == task.segments.map(\.epoch).sorted())
                try #require(task.attempt.map { $0.epoch == task.epoch } ?? true)
                try #require(task.bytesSent <= task.body?.length ?? 0)
                if task.asksDelegate {
                    try #require(task.attempt == nil && task.state != .completed, "the task waits for the app")
                }
                try #require((task.fate == .offered) == (session.finishing?.task == task.task))
            }
            try #require(
                session.finishing.map { session.undelivered.first == $0.task } ?? true, "one callback at a time")
            let finished = Set(session.tasks.filter { $0.state == .completed }.map(\.task))
            try #require(Set(session.undelivered).isSubset(of: finished))
            try #require(session.tasks.count { $0.attempt != nil } <= 2, "at most two to the host")
        }
        for app in device.apps.values {
            try #require(app.resumable.count <= TransferMachine.keptResumeData)
            try #require(app.resumable.values.allSatisfy { !$0.pieces.isEmpty }, "resume data has bytes")
        }
        try #require(TransferMachine(binary: device.binary)?.binary == device.binary)
        try #require(device.binary.count <= 65_536, "a larger state would park its device")
    }

    /// Checks that every transfer that is not suspended ends, at the latest by its timeout.
    fileprivate mutating func finishAll() throws {
        try pass(until: now + .days(8))
        let unfinished = device.sessions.flatMap { $0.session.tasks.filter { $0.state != .completed } }
        try #require(unfinished.allSatisfy { $0.state == .suspended })
        try #require(device.nextDeadline == nil)
    }

    fileprivate mutating func pausesOfFailures(_ count: Int) throws -> [Interval] {
        try deliver(LifecycleEvent.DeviceRegistered(registration: Registration(profile: .ios18)))
        try deliver(LifecycleEvent.AppInstalled(app: "a", manifest: Manifest()))
        try deliver(LifecycleEvent.AppLaunched(app: "a", callbacks: []))
        let taskKey = TaskKey(app: "a", session: "s-0", task: 1)
        try submit(.openSession(app: "a", session: "s-0", SessionConfiguration()))
        try submit(.download(app: "a", session: "s-0", TransferRequest(url: "http://files.example/"), resumes: true))
        return try (1...count).map { epoch in
            let claim = AttemptClaim(taskKey, epoch: epoch, worker: "m")
            try submit(.startAttempt(claim))
            try submit(.fail(claim, total: 0, .connectionLost))
            let retryAt = try #require(device.task(taskKey)?.waitsUntil)
            let pause = retryAt - now
            try pass(until: retryAt)
            return pause
        }
    }
}
