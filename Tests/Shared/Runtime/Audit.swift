import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import Runtime
import TestSupport
import Testing

extension RuntimeFixture {
    /// Checks the invariants: offsets are dense, every acknowledged command and every ping is in the log exactly once,
    /// and every state is the fold of its history.
    func audit(acknowledged: [String] = [], pings: [UUID] = []) async throws {
        let events = try await log()
        for partition in 0..<partitions {
            let offsets = events.filter { $0.partition == partition }.map(\.offset)
            #expect(offsets == offsets.indices.map { $0 + 1 }, "offsets of partition \(partition) are dense")
        }
        #expect(Set(events.map(\.id)).count == events.count)
        let added = events.filter { $0.type == Added.type }.map { $0.correlation.uuidString }
        #expect(Set(added).count == added.count, "a command was run twice")
        #expect(Set(acknowledged).count == acknowledged.count)
        #expect(Set(acknowledged).subtracting(added).isEmpty, "an acknowledged command was lost")
        let counted = events.filter { $0.type == PingCounted.type }.compactMap(\.causation)
        #expect(Set(counted).count == counted.count, "an event was handled twice")
        #expect(Set(pings).subtracting(counted).isEmpty, "an event was skipped")
        let observer = try observer()
        for key in Set(events.filter { $0.source == Counter.name }.map(\.key)) {
            #expect(try await observer.foldCheck(key), "\(key) is the fold of its history")
        }
    }

    /// Waits until these pings are counted.
    func counted(_ pings: [UUID]) async throws {
        let statement = Statement(
            "SELECT count(DISTINCT causationid) FROM bus.events WHERE type = $1 AND causationid = ANY($2)")
        try await eventuallyTrue {
            try await pool.execute(Query(statement, [.text(PingCounted.type), .uuids(pings)]))[0].decode(
                Int.self, at: 0) == pings.count
        }
    }
}

/// A counter in its own process.
struct CounterProcess {
    let process: ChildProcess

    init(_ fixture: RuntimeFixture, _ arguments: String...) async throws {
        try await self.init(fixture, arguments: arguments)
    }

    init(_ fixture: RuntimeFixture, arguments: [String]) async throws {
        process = try ChildProcess.start(
            ChildProcess.product("CounterService"), [fixture.url, "\(fixture.partitions)"] + arguments,
            // Traps are expected.
            environment: ["SWIFT_BACKTRACE": "enable=no"])
        try await process.waitForLine(containing: "up")
    }

    /// The commands that were acknowledged so far.
    var acknowledged: [String] {
        process.output.lines.filter { $0.hasPrefix("ack ") }.map { String($0.dropFirst(4)) }
    }

    /// Waits for a number of new acknowledgements.
    func acknowledges(_ more: Int) async throws {
        var left = acknowledged.count + more
        for await line in process.output.follow() where line.hasPrefix("ack ") {
            left -= 1
            if left == 0 { return }
        }
        throw ChildEnded(errors: process.errors.tail())
    }

    /// Ends it with SIGTERM, like a deployment.
    func stop() async throws {
        process.signal(SIGTERM)
        let status = try await process.exit(within: 60)
        #expect(status == .exited(0), "\(process.errors.tail())")
    }
}

/// An error: a child process ended too early.
struct ChildEnded: Error { let errors: String }
