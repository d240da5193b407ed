import Contracts
import RandomScenarios
import Machines
import OrderedCollections
import Records
import MachineTesting
import Testing
import Timeline
import TransferCore

/// Full devices: the growth of existing tasks never exceeds the size limit of a state.
@Suite(.ownThread) struct CrowdedDevices {
    private static let limit = 65_536
    private static let long = String(repeating: "x", count: 250)

    private func life() throws -> TransferLife {
        var life = TransferLife(SplitMix64(seed: 1))
        try life.deliver(LifecycleEvent.DeviceRegistered(registration: Registration(profile: .ios18)))
        try life.deliver(LifecycleEvent.AppInstalled(app: "a", manifest: Manifest()))
        try life.deliver(LifecycleEvent.AppLaunched(app: "a", callbacks: []))
        return life
    }

    /// Creates downloads, 64 in a session, until the device is full.
    private func fill(_ life: inout TransferLife, headers: Int) throws -> [TaskKey] {
        var places: [TaskKey] = []
        do {
            while true {
                let session = "s\(places.count / 64)"
                if places.count.isMultiple(of: 64) {
                    var configuration = SessionConfiguration()
                    configuration.httpMaximumConnectionsPerHost = 64
                    try life.submit(.openSession(app: "a", session: session, configuration))
                }
                var request = TransferRequest(url: "http://files.example/\(places.count)")
                if headers > 0 { request.headers = ["X": String(repeating: "y", count: headers)] }
                try life.submit(.download(app: "a", session: session, request, resumes: true))
                places.append(TaskKey(app: "a", session: session, task: places.count % 64 + 1))
            }
        } catch TransferRefusal.deviceFull { return places }
    }

    private func receive(_ life: inout TransferLife, _ taskKey: TaskKey) throws {
        let claim = AttemptClaim(taskKey, epoch: life.device.task(taskKey)?.epoch ?? 0, worker: "m")
        try life.submit(.startAttempt(claim))
        var head = ResponseHead()
        head.status = 200
        head.acceptsRanges = true
        head.etag = "\"\(Self.long)\""
        head.lastModified = Self.long
        head.contentType = Self.long
        head.contentLength = 1000
        try life.submit(.receiveResponse(claim, head))
        try life.submit(.report(claim, total: 500))
    }

    @Test func `a repeated report of a full disk changes nothing, and is not stale`() throws {
        var life = try life()
        try life.submit(.openSession(app: "a", session: "s", SessionConfiguration()))
        let request = TransferRequest(url: "http://files.example/1")
        try life.submit(.download(app: "a", session: "s", request, resumes: true))
        let taskKey = TaskKey(app: "a", session: "s", task: 1)
        try receive(&life, taskKey)
        let claim = AttemptClaim(taskKey, epoch: try #require(life.device.task(taskKey)?.epoch), worker: "m")
        try life.submit(.fail(claim, total: 0, .cannotWrite))
        let failed = life.device
        try life.submit(.fail(claim, total: 0, .cannotWrite))
        #expect(life.device.binary == failed.binary)
        #expect(failed.task(taskKey)?.error?.code == TransferFailure.cannotWriteToFile.code)

        let former = AttemptClaim(taskKey, epoch: claim.epoch - 1, worker: "m")
        #expect(throws: TransferRefusal.staleAttempt) { try life.submit(.fail(former, total: 0, .cannotWrite)) }
        #expect(throws: TransferRefusal.staleAttempt) { try life.submit(.fail(claim, total: 0, .timedOut)) }
    }

    @Test func `a full device stores resume data only while there is room`() throws {
        var life = try life()
        let places = try fill(&life, headers: 4000)
        let begun = places.prefix(4)
        for taskKey in begun { try receive(&life, taskKey) }
        // All tasks time out at once.
        try life.pass(until: life.now + .days(8))
        #expect(life.device.sessions.allSatisfy { !$0.session.hasUnfinishedTasks })
        let data = places.compactMap { life.device.task($0)?.error?.resumeData }
        #expect(!data.isEmpty && data.count < begun.count, "only some fit")
        #expect(life.device.binary.count <= Self.limit)
    }

    @Test func `a full device refuses another session`() throws {
        var life = try life()
        var configuration = SessionConfiguration()
        configuration.httpAdditionalHeaders = ["X": String(repeating: "y", count: 4000)]
        #expect(throws: TransferRefusal.deviceFull) {
            for number in 0..<16 {
                try life.submit(.openSession(app: "a", session: "s\(number)", configuration))
            }
        }
        #expect(life.device.binary.count <= Self.limit)
    }

    @Test func `a full device stores validators only while there is room`() throws {
        var life = try life()
        let places = try fill(&life, headers: 0)
        for taskKey in places { try receive(&life, taskKey) }
        #expect(places.count > 64)
        #expect(life.device.binary.count <= Self.limit)
        let kept = places.compactMap { life.device.task($0)?.response?.etag }
        #expect(kept.count > 10 && kept.count < places.count, "only some fit")
    }
}
