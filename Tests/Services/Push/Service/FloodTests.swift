import Glibc
import Records
import Synchronization
import TestSupport
import Testing
import Timeline

/// No accepted notification is lost, and no acknowledged one is delivered again, even if the process is killed during a
/// flood.
@Suite(.tags(.database, .processes), .timeLimit(.minutes(6))) struct FloodTests {
    @Test(arguments: Flood.Variation.allCases)
    func `every notification accepted before a kill is accounted for`(_ variation: Flood.Variation) async throws {
        try await PushSuite.run { suite in
            let flood = Flood(variation, bearer: try await suite.signer.token(issuedAt: RealClock().now))
            for number in 0..<16 {
                let name = "d\(number)"
                flood.tokens.append(try await suite.makeDevice(name), of: name)
            }
            let restarted = Signal<(port: Int, apns: Int)>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                // Some devices are online or reconnect; the others are offline. (The client has eight connections to a
                // host.)
                for number in 0..<Flood.listeners {
                    group.addTask { try await flood.listen(suite, "d\(number)", restarted) }
                }
                for lane in 0..<4 {
                    group.addTask {
                        await flood.send(suite, lane: lane, port: suite.apns, rounds: .max)
                        let again = try await restarted.value()
                        await flood.send(suite, lane: lane + 4, port: again.apns, rounds: 3)
                        flood.sendersLeft.subtract(1, ordering: .relaxed)
                    }
                }
                try await eventually(within: 60, describe: "many notifications are in progress") {
                    flood.accepted.withLock { $0.count } > 400 && flood.acknowledged.withLock { $0.count } > 20
                        && (variation == .plain || flood.comings.load(ordering: .relaxed) > 2)
                }
                suite.killPush()
                let next = try await suite.another()
                defer { next.process.signal(SIGKILL) }
                let apns = try await PushSuite.apnsPort(of: next.process)
                restarted.fire((next.port, apns))
                try await eventually(within: 60, describe: "all requests are sent") {
                    flood.sendersLeft.load(ordering: .relaxed) == 0
                }
                flood.isOver.store(true, ordering: .relaxed)
                group.cancelAll()
                while let result = await group.nextResult() {
                    if case .failure(let error) = result, !(error is CancellationError) { throw error }
                }
                try await flood.settle(suite, port: next.port)
                try await FloodAccount(flood).check(suite, port: next.port)
            }
            #expect(flood.accepted.withLock { $0.count } > 400)
            // The kill interrupted requests.
            #expect(flood.cut.load(ordering: .relaxed) > 0)
        }
    }
}
