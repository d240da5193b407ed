import Contracts
import Foundation
import Machines
import NIOCore
import NIOHTTP1
import OrderedCollections
import TestSupport
import Testing
import Timeline
import TransferCore

@testable import TransferService

/// Counts that a correct log can't have. They must not end the process.
@Suite("Extreme counts", .tags(.database, .processes), .timeLimit(.minutes(3))) struct ExtremeCountTests {
    private static let longest = 1 << 50
    private let taskKey = TaskKey(app: "a", session: "s", task: 1)

    /// A device with an app on screen that has a session with one task.
    private func device(_ change: (inout BackgroundSession) -> Void = { _ in }) -> TransferMachine {
        var device = TransferMachine()
        device.isRegistered = true
        var app = AppView()
        app.state = .foreground
        var session = BackgroundSession()
        session.isAttached = true
        session.lastTask = 1
        var task = TransferTask(task: 1, request: TransferRequest(url: "http://files.example/"))
        task.state = .running
        task.timeout = Countdown(until: .epoch + .days(30))
        session.tasks = [task]
        change(&session)
        app.sessions["s"] = session
        device.apps["a"] = app
        return device
    }

    /// The device after a command.
    private func device(_ state: TransferMachine, after command: TransferCommand) throws -> TransferMachine {
        let now = Instant.epoch + .days(1)
        var aggregate = Aggregate<TransferMachine>(key: .device("d"), state: state, now: now, eventCount: 1)
        var slots = SlotAllocator(ceiling: nil)
        _ = try aggregate.decide(
            .command(command), Origin(id: UUID()), at: now, policy: TransferPolicy(), slots: &slots)
        return aggregate.state
    }

    @Test func `a session whose last task has the largest number takes another one`() throws {
        let before = device { $0.lastTask = .max }
        let request = TransferRequest(url: "http://files.example/")
        let after = try device(before, after: .download(app: "a", session: "s", request))
        #expect(after[taskKey.sessionKey]?.tasks.count == 2)
    }

    @Test func `a task whose last attempt has the largest number gets another one`() throws {
        let before = device { $0.tasks[0].epoch = .max }
        let after = try device(before, after: .openSession(app: "a", session: "s", SessionConfiguration()))
        #expect(after[taskKey.sessionKey]?.tasks[0].attempt != nil)
    }

    @Test func `bytes that are reported again and again do not overflow`() {
        var device = device { $0.tasks[0].segments = [Segment(epoch: 1, length: 0)] }
        for _ in 0..<2 { device.apply(.progressMade(.init(taskKey) { $0.bytesWritten = .max }), at: .epoch) }
        #expect(device.task(taskKey)?.segments.map(\.length) == [Self.longest])
    }

    @Test func `bytes that the app has not heard of do not overflow`() {
        var device = device()
        for _ in 0..<2 {
            device.apply(
                .bodySent(
                    .init(taskKey) { event in
                        event.bytesSent = .max
                        event.isDelivered = false
                    }), at: .epoch)
        }
        #expect(device.task(taskKey)?.undeliveredBytes == Self.longest)
    }

    @Test func `the number of bytes sent is at most that of the longest file`() {
        var device = device()
        device.apply(.bodySent(.init(taskKey) { $0.totalBytesSent = .max }), at: .epoch)
        #expect(device.task(taskKey)?.bytesSent == Self.longest)
    }

    @Test func `the length of an answer and the bytes before it do not overflow`() {
        var device = device()
        device.apply(
            .responseReceived(
                .init(taskKey) { event in
                    event.from = .max
                    event.response.contentLength = .max
                }), at: .epoch)
        #expect(device.task(taskKey)?.bytesExpected == 2 * Self.longest)
    }

    @Test func `the lengths of the parts of a download do not overflow`() {
        var task = TransferTask.placeholder
        task.segments = [Segment(epoch: 1, length: .max), Segment(epoch: 2, length: .max)]
        #expect(task.bytesReceived == 2 * Self.longest)
    }

    @Test func `the lengths of the pieces of a file do not overflow`() {
        var file = AppFile()
        file.pieces = [StoredPiece(length: .max, name: "a"), StoredPiece(length: .max, name: "b")]
        #expect(file.length == 2 * Self.longest)
    }

    @Test func `failures of a challenge do not overflow`() {
        struct NoCredentials: CredentialSource {
            func credential(_ challenge: String, of device: AggregateKey) async throws -> Credential? { nil }
            func headers(_ id: String, of device: AggregateKey) async throws -> SecretHeaders? { nil }
        }
        var former = AuthenticationChallenge()
        former.previousFailureCount = 1
        var order = AttemptAssignment.placeholder
        order.credentials = [HeldCredential(id: "c", challenge: former)]
        var challenge = former
        challenge.previousFailureCount = .max
        let answers = AppAnswers(order: order, device: .device("d"), source: NoCredentials())
        #expect(answers.counted(challenge).isOfSameSpace(as: challenge))
    }

    @Test func `a content whose row has a negative size is empty`() async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        let port = suite.transferPort
        #expect(try await suite.send(.PUT, port, "/content/film", ByteBuffer(string: "film")).status == 201)
        _ = try await suite.cluster.sql("UPDATE transfer.contents SET size = -1", database: suite.database)
        let answer = try await suite.send(.GET, port, "/content/film")
        #expect(answer.status == 200 && answer.body.readableBytes == 0)
    }
}
