import Contracts
import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// Attempts that no worker can carry out while their device is parked.
@Suite(.tags(.database, .processes), .serialized) struct AbandonedAttempts {
    private static let bytes = ByteBuffer(repeating: 7, count: 3 << 20)
    private static let partitions = 16

    /// Two devices in the order in which workers scan them.
    private static let devices: [String] = {
        let places = (0..<50).map { "phone-\($0)" }.sorted {
            let (a, b) = (AggregateKey.device($0), AggregateKey.device($1))
            return (a.partition(of: partitions), "\(a)") < (b.partition(of: partitions), "\(b)")
        }
        return [places[0], places[49]]
    }()

    /// Runs with a download on each device that waits for its first byte. The process scans for work each second.
    private func run(
        on devices: [String], _ body: (TransferSuite, ChildProcess) async throws -> Void
    ) async throws {
        let (suite, transfer) = try await TransferSuite.start(settings: ["--scan-interval", "1"])
        defer { transfer.signal(SIGTERM) }
        _ = try await suite.send(.PUT, suite.transferPort, "/content/film", Self.bytes)
        try await suite.proxy.pause()
        for device in devices {
            try await suite.prepare(device)
            try await suite.download("http://127.0.0.1:\(suite.proxy.port)/content/film", on: device)
            try await suite.task(1, of: device, until: "is in progress") { $0.ends == [nil] }
        }
        try await body(suite, transfer)
    }

    @Test func `a parked device does not delay the transfers of others`() async throws {
        let (sick, well) = (Self.devices[0], Self.devices[1])
        try await run(on: Self.devices) { suite, first in
            first.signal(SIGKILL)
            _ = try await first.exit()
            try await Backends.leave(of: "transfer", in: suite.url)
            try await suite.park(sick)
            try await suite.expireLeases()
            suite.proxy.resume()
            let second = try await suite.startTransfer()
            defer { second.signal(SIGTERM) }
            try await second.waitForLine(containing: "failed to take over an attempt", within: 60)
            #expect(try await suite.completed(1, of: well).ends == ["workerLost", "finished"])
            #expect(try await suite.task(1, of: sick).ends == [nil])
            // Later tasks are not delayed either.
            let next = try await suite.download("http://127.0.0.1:\(suite.proxy.port)/content/film", on: well)
            #expect(try await suite.completed(next, of: well).ends == ["finished"])
            try await suite.free(sick)
            #expect(try await suite.completed(1, of: sick).ends == ["workerLost", "finished"])
        }
    }

    /// A worker gives up the attempt of a parked device but keeps its lease, so no other worker takes over.
    @Test func `a living worker retries an attempt after its device was parked`() async throws {
        try await run(on: ["phone"]) { suite, transfer in
            try await suite.park("phone")
            suite.proxy.resume()
            try await transfer.waitForLine(containing: "failed to run an attempt", within: 60)
            #expect(try await suite.task(1).ends == [nil])
            try await suite.free("phone")
            #expect(try await suite.completed(1).ends == ["workerLost", "finished"])
        }
    }
}

extension TransferSuite {
    /// Parks a device at its last event of another service.
    fileprivate func park(_ device: String) async throws {
        try await cluster.sql(
            """
            WITH letter AS (
                INSERT INTO bus.dead_letters (partition, consumer, key, log_offset, reason)
                SELECT partition, 'transfer', key, max(log_offset), 'for a test' FROM bus.events
                WHERE key = 'device:\(device)' AND source = 'lifecycle' GROUP BY partition, key RETURNING partition)
            UPDATE bus.cursors SET parked = parked + 1 FROM letter
            WHERE cursors.partition = letter.partition AND consumer = 'transfer'
            """, database: database)
    }

    fileprivate func free(_ device: String) async throws {
        try await call(.POST, transferPort, "/v1/parked/device:\(device)/discard")
    }
}
