import Contracts
import MachineTesting
import Machines
import OrderedCollections
import RandomScenarios
import Testing
import Timeline
import TransferCore

/// The request of a task after `willBeginDelayedRequest`.
@Suite(.ownThread) struct DelayedRequests {
    private static let place = TaskKey(app: "a", session: "s", task: 1)

    /// Returns a device whose task asks its delegate.
    private func asking() throws -> TransferLife {
        var life = TransferLife(SplitMix64(seed: 1))
        try life.deliver(LifecycleEvent.DeviceRegistered(registration: Registration(profile: .ios18)))
        try life.deliver(LifecycleEvent.AppInstalled(app: "a", manifest: Manifest()))
        try life.deliver(LifecycleEvent.AppLaunched(app: "a", callbacks: []))
        var configuration = SessionConfiguration()
        configuration.handlesDelayedRequests = true
        try life.submit(.openSession(app: "a", session: "s", configuration))
        var request = TransferRequest(url: "http://files.example/old")
        request.earliestBeginDate = life.now
        request.headers = ["X-A": "old"]
        request.secretHeaders = "old"
        request.priority = 1
        try life.submit(.download(app: "a", session: "s", request, resumes: true))
        try #require(life.device.task(Self.place)?.waiting == .waitingForDelegate)
        return life
    }

    @Test func `a new request replaces url and headers, and keeps the options of the task`() throws {
        var life = try asking()
        let old = try #require(life.device.task(Self.place)).request
        let new = NewRequest(url: "http://files.example/new", headers: ["X-B": "new"], secretHeaders: "new")
        try life.submit(.answerDelayedRequest(Self.place, .useNewRequest, new))
        let task = try #require(life.device.task(Self.place))
        var expected = old
        (expected.url, expected.headers, expected.secretHeaders) = (new.url, new.headers, "new")
        #expect(task.request == expected && task.attempt?.epoch == 1)
    }

    @Test(arguments: [DelayedRequestDisposition.continueLoading, .cancel])
    func `other dispositions ignore a new request`(disposition: DelayedRequestDisposition) throws {
        var life = try asking()
        try life.submit(.answerDelayedRequest(Self.place, disposition, NewRequest(url: "http://files.example/new")))
        #expect(life.device.task(Self.place)?.request.url == "http://files.example/old")
    }
}
