import Contracts
import RandomScenarios
import Machines
import OrderedCollections
import Records
import MachineTesting
import Testing
import Timeline
import TransferCore

/// The quota of the files of a device.
@Suite(.ownThread) struct FileQuotas {
    private static let session = SessionKey(app: "a", session: "s")

    /// Returns a device with an app that runs and has a session.
    private func life(fileBytes: Int, transfers: BuiltInTransfers? = nil) throws -> TransferLife {
        let builtIn = transfers.map { BuiltInDevice(transfers: $0) }
        var life = TransferLife(SplitMix64(seed: 1), builtIn: builtIn, fileBytes: fileBytes)
        try life.begin()
        try life.deliver(LifecycleEvent.AppInstalled(app: "a", manifest: Manifest()))
        try life.deliver(LifecycleEvent.AppLaunched(app: "a", callbacks: []))
        try life.submit(.openSession(app: "a", session: "s", SessionConfiguration()))
        return life
    }

    private func file(_ length: Int, _ name: String) -> AppFile {
        AppFile(pieces: [StoredPiece(length: length, name: name)])
    }

    /// Starts a download.
    private func download(_ life: inout TransferLife) throws -> AttemptClaim {
        try life.submit(
            .download(app: "a", session: "s", TransferRequest(url: "http://files.example/"), resumes: true))
        let task = try #require(life.device[Self.session]?.tasks.last)
        let claim = AttemptClaim(
            TaskKey(app: "a", session: "s", task: task.task), epoch: task.epoch, worker: "m")
        try life.submit(.startAttempt(claim))
        return claim
    }

    private func head(_ length: Int?) -> ResponseHead {
        var head = ResponseHead()
        head.status = 200
        head.contentLength = length
        return head
    }

    private func end(of claim: AttemptClaim, in life: TransferLife) -> TransferTask? { life.device.task(claim.taskKey) }

    @Test func `a file beyond the quota is refused, and a smaller one may replace another`() throws {
        var life = try life(fileBytes: 1000)
        try life.submit(.storeFile(app: "a", name: "x", file(600, "1")))
        #expect(throws: TransferRefusal.fileQuotaExceeded) {
            try life.submit(.storeFile(app: "a", name: "y", file(401, "2")))
        }
        try life.submit(.storeFile(app: "a", name: "y", file(400, "3")))
        #expect(life.device.storedBytes == 1000)
        try life.submit(.storeFile(app: "a", name: "x", file(600, "4")))
        try life.submit(.removeFile(app: "a", name: "y"))
        #expect(life.device.storedBytes == 600)
    }

    @Test func `the bytes of an upload task stay until it ends, and count once`() throws {
        var life = try life(fileBytes: 1000)
        try life.submit(.storeFile(app: "a", name: "x", file(600, "1")))
        var request = TransferRequest(url: "http://files.example/up")
        request.method = "POST"
        try life.submit(.upload(app: "a", session: "s", request, .file("x"), resumes: false))
        #expect(life.device.storedBytes == 600)
        try life.submit(.removeFile(app: "a", name: "x"))
        #expect(life.device.storedBytes == 600)
        #expect(throws: TransferRefusal.fileQuotaExceeded) {
            try life.submit(.upload(app: "a", session: "s", request, .body(file(401, "2")), resumes: false))
        }
        try life.submit(.cancel(TaskKey(app: "a", session: "s", task: 1)))
        #expect(life.device.storedBytes == 0)
    }

    @Test func `a download whose length does not fit ends before its first byte`() throws {
        var life = try life(fileBytes: 1000)
        try life.submit(.storeFile(app: "a", name: "x", file(600, "1")))
        let claim = try download(&life)
        try life.submit(.receiveResponse(claim, head(401)))
        let task = end(of: claim, in: life)
        #expect(task?.state == .completed && task?.error?.code == TransferFailure.cannotWriteToFile.code)
        #expect(task?.attempts.last?.end == .cannotWrite && task?.bytesReceived == 0)
    }

    @Test(arguments: [true, false])
    func `a download of unknown length ends when the device has no room`(finishes: Bool) throws {
        var life = try life(fileBytes: 1000)
        let claim = try download(&life)
        try life.submit(.receiveResponse(claim, head(nil)))
        try life.submit(.report(claim, total: 1000))
        #expect(end(of: claim, in: life)?.state == .running)
        try life.submit(finishes ? .finish(claim, total: 1001, sha256: "00") : .report(claim, total: 1001))
        let task = end(of: claim, in: life)
        #expect(task?.state == .completed && task?.error?.code == TransferFailure.cannotWriteToFile.code)
        #expect(life.device.storedBytes == 0, "the file of a failed task is removed")
        // The worker tells that it has stopped writing. That is not stale.
        try life.submit(.fail(claim, total: 0, .cannotWrite))
    }

    @Test func `a restarted download frees the bytes that it had`() throws {
        var life = try life(fileBytes: 1000)
        let first = try download(&life)
        var known = head(900)
        (known.acceptsRanges, known.etag) = (true, "\"1\"")
        try life.submit(.receiveResponse(first, known))
        try life.submit(.fail(first, total: 800, .connectionLost))
        try life.pass(until: life.now + .minutes(1))
        let task = try #require(end(of: first, in: life))
        #expect(task.attempt?.from == 800)
        let second = AttemptClaim(first.taskKey, epoch: task.epoch, worker: "m")
        try life.submit(.startAttempt(second))
        try life.submit(.receiveResponse(second, head(1000)))
        try life.submit(.finish(second, total: 1000, sha256: "00"))
        #expect(end(of: second, in: life)?.error == nil)
    }

    @Test func `files of modelled transfers have no bytes`() throws {
        var life = try life(fileBytes: 1000, transfers: BuiltInTransfers())
        try life.submit(.storeFile(app: "a", name: "film", file(2_000_000_000, "1")))
        #expect(life.device.storedBytes == 0)
    }
}
