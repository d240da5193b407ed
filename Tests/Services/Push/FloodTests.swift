import AsyncHTTPClient
import Foundation
import Glibc
import NIOHPACK
import Records
import Synchronization
import TestSupport
import Testing
import Timeline

/// A notification that was answered with 200 is never lost, and none comes again once it was acknowledged: also where the
/// process is killed in the middle of a flood.
@Suite(.timeLimit(.minutes(6))) struct FloodTests {
    @Test func whatWasAcceptedBeforeAKillIsAccountedForAfterIt() async throws {
        try await PushSuite.run { suite in
            let flood = Flood(bearer: try await suite.signer.token(issuedAt: RealClock().now))
            for number in 0..<16 {
                let name = "d\(number)"
                flood.tokens.append(try await suite.makeDevice(name), of: name)
            }
            let restarted = Signal<(port: Int, apns: Int)>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                // Some are online; the others never are. (The client has eight connections to a host.)
                for number in 0..<5 { group.addTask { try await flood.listen(suite, "d\(number)", restarted) } }
                for lane in 0..<4 {
                    group.addTask {
                        await flood.send(suite, lane: lane, port: suite.apns, rounds: 60)
                        let again = try await restarted.value()
                        await flood.send(suite, lane: lane + 4, port: again.apns, rounds: 3)
                        flood.sendersLeft.subtract(1, ordering: .relaxed)
                    }
                }
                try await eventually(within: 60, describe: "the flood is at its height") {
                    flood.accepted.withLock { $0.count } > 400 && flood.acknowledged.withLock { $0.count } > 20
                }
                suite.killPush()
                let next = try await suite.another()
                defer { next.process.signal(SIGKILL) }
                let apns = try await PushSuite.apnsPort(of: next.process)
                restarted.fire((next.port, apns))
                try await eventually(within: 60, describe: "all was sent") {
                    flood.sendersLeft.load(ordering: .relaxed) == 0
                }
                try await flood.account(suite, port: next.port)
                flood.isOver.store(true, ordering: .relaxed)
                group.cancelAll()
                for id in flood.twice.withLock({ $0 }) {
                    let timeline = try await suite.send("GET", "/v1/notifications/\(id)", port: next.port).json
                    Issue.record("came again: \(String(decoding: timeline.bytes, as: UTF8.self))")
                }
                while let result = await group.nextResult() {
                    if case .failure(let error) = result, !(error is CancellationError) { throw error }
                }
            }
            #expect(flood.twice.withLock { $0 } == [])
            let accepted = flood.accepted.withLock { $0.count }
            #expect(accepted > 400)
            // The kill did interrupt something.
            #expect(flood.cut.load(ordering: .relaxed) > 0)
        }
    }
}

/// What a flood sent and what came of it.
private final class Flood: Sendable {
    final class Tokens: Sendable {
        private let all = Mutex<[(device: String, token: String)]>([])
        func append(_ token: String, of device: String) { all.withLock { $0.append((device, token)) } }
        func pick(_ number: Int) -> String { all.withLock { $0[number % $0.count].token } }
    }

    let bearer: String
    let tokens = Tokens()
    /// `apns-id`s of what was answered with 200.
    let accepted = Mutex<Set<String>>([])
    /// `apns-unique-id`s whose acknowledgement was answered for.
    let acknowledged = Mutex<Set<String>>([])
    /// What came again after that.
    let twice = Mutex<[String]>([])
    /// Connections that ended while requests were under way.
    let cut = Atomic(0)
    let sendersLeft = Atomic(4)
    let isOver = Atomic(false)

    init(bearer: String) { self.bearer = bearer }

    /// Sends in bursts over one connection until it breaks.
    func send(_ suite: PushSuite, lane: Int, port: Int, rounds: Int) async {
        let headers = [("authorization", "bearer \(bearer)"), ("apns-topic", PushSuite.app)]
        guard let client = try? await HTTP2Client.connect(port: port, authority: suite.authority) else { return }
        var stream = 1
        for round in 0..<rounds {
            // One stream until the token was seen.
            let count = round == 0 ? 1 : 20
            var ids: [String] = []
            do {
                for index in 0..<count {
                    let id = UUID().uuidString.lowercased()
                    ids.append(id)
                    let number = lane * 7 + round * count + index
                    // Every fourth is silent.
                    let silent = number.isMultiple(of: 4)
                    let body = silent ? #"{"aps":{"content-available":1}}"# : #"{"aps":{"alert":"\#(number)"}}"#
                    let more = [("apns-id", id), ("apns-priority", silent ? "5" : "10")]
                    try await client.request(
                        stream + 2 * index, "POST", "/3/device/\(tokens.pick(number))", headers + more,
                        body: Array(body.utf8))
                }
                for answer in try await client.answers(from: stream, count: count) where answer.status == "200" {
                    guard let id = answer.headers.first(name: "apns-id") else { continue }
                    _ = accepted.withLock { $0.insert(id) }
                }
            } catch {
                cut.add(1, ordering: .relaxed)
                break
            }
            stream += 2 * count
        }
        await client.close()
    }

    /// A device that acknowledges what comes, and comes back where its connection ends.
    func listen(
        _ suite: PushSuite, _ device: String, _ restarted: Signal<(port: Int, apns: Int)>
    ) async throws {
        var port = suite.push
        while !isOver.load(ordering: .relaxed), !Task.isCancelled {
            do {
                var stream = try await DeviceStream(suite, device, port: port)
                while let notification = try await stream.next() {
                    let id = notification["id"]?.string ?? ""
                    if acknowledged.withLock({ $0.contains(id) }) { twice.withLock { $0.append(id) } }
                    let answer = try await suite.send(
                        "POST", "/v1/devices/\(device)/notifications/\(id)/ack", port: port)
                    if answer.status == 204 { _ = acknowledged.withLock { $0.insert(id) } }
                }
            } catch is CancellationError { return } catch {
                // The process is gone.
            }
            port = try await restarted.value().port
        }
    }

    /// Everything that was accepted has got further than being received, and says how.
    func account(_ suite: PushSuite, port: Int) async throws {
        for id in accepted.withLock({ $0 }) {
            let timeline = try await suite.send("GET", "/v1/notifications/\(id)", port: port).json
            let words = timeline["statuses"]?.items?.compactMap { $0["status"]?.string } ?? []
            #expect(words.first == "Received" && words.count > 1, "\(id): \(words)")
        }
    }
}
