import NIOHTTP1
import Records
import TestSupport
import Testing

/// Failures of services and of the database under load. No acknowledged command is lost or executed twice, and all
/// services continue.
@Suite("Faults under load", .tags(.database, .processes), .serialized, .timeLimit(.minutes(8))) struct FaultTests {
    @Test func `a killed service loses nothing and the others continue`() async throws {
        try await underLoad(.start(fsync: true)) { suite, witnesses in
            for victim in witnesses {
                try await suite.kill(victim.service)
                for witness in witnesses where witness.service != victim.service {
                    try await suite.waitUntil(witness.service, isWell: true)
                    try await witness.acknowledges(3)
                }
                try await suite.launch(victim.service)
                try await suite.waitUntil(victim.service, isWell: true)
                for witness in witnesses { try await witness.acknowledges(5) }
            }
        }
    }

    @Test func `a database outage loses nothing and the services wait for it`() async throws {
        try await underLoad(.start(fsync: true)) { suite, witnesses in
            for isKilled in [false, true] {
                if isKilled { try await suite.cluster.kill() } else { try await suite.cluster.stop(.fast) }
                try await forAllServices { service in
                    try await suite.waitUntil(service, isWell: false)
                    // Another check may notice the outage first.
                    try await eventually(describe: "\(service) reports the database") {
                        try await suite.send(.GET, service, "/readyz").json["checks"]?["database"] == "failing"
                    }
                    // The process is alive and needs no restart.
                    #expect(try await suite.send(.GET, service, "/healthz").status == 200)
                    // Reads get 503 with Retry-After too.
                    let answer = try await suite.send(.GET, service, Witness.readPath(service))
                    #expect(answer.status == 503 && answer.json["code"]?.string == "database_unavailable")
                }
                for witness in witnesses { try await witness.failed(1) }
                try await suite.cluster.start()
                try await forAllServices { try await suite.waitUntil($0, isWell: true) }
                for witness in witnesses { try await witness.acknowledges(5) }
            }
        }
    }

    @Test func `a promoted standby has each acknowledged command, and streams and pollers go on`() async throws {
        try await underLoad(.start(fsync: true, hasStandby: true)) { suite, witnesses in
            let standby = try #require(suite.standby)
            let stream = try await suite.stream(.ops, "/v1/events/stream")
            try await stream.waitFor(20, "events before the failover")
            let poller = EventPoller(suite)
            async let polling: Void = poller.run()
            try await poller.reads(20)
            try await suite.cluster.kill()
            for witness in witnesses { try await witness.failed(1) }
            try await standby.promote()
            try await forAllServices { try await suite.waitUntil($0, isWell: true) }
            for witness in witnesses { try await witness.acknowledges(10) }
            try await stream.waitFor(stream.items.count + 50, "events after the failover")
            try await poller.reads(50)
            poller.stop()
            try await polling
            poller.check()
            var last: [Int: Int] = [:]
            for item in stream.items {
                let (partition, offset) = (
                    item["partition"]?.int ?? -1, item["offset"]?.string.flatMap { Int($0) } ?? -1
                )
                if let before = last[partition] { #expect(offset == before + 1, "the stream of \(partition)") }
                last[partition] = offset
            }
        }
    }

    private func forAllServices(_ body: @Sendable @escaping (SuiteService) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for service in SuiteService.allCases { group.addTask { try await body(service) } }
            try await group.waitForAll()
        }
    }
}
