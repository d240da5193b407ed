import Contracts
import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// Attempts that nobody can carry out, and those that nobody does.
@Suite(.serialized) struct AbandonedAttempts {
    private static let bytes = ByteBuffer(repeating: 7, count: 3 << 20)
    private static let partitions = 16

    /// Two devices in the order in which the movers look at them.
    private static let devices: [String] = {
        let places = (0..<50).map { "phone-\($0)" }.sorted {
            let (a, b) = (AggregateKey.device($0), AggregateKey.device($1))
            return (a.partition(of: partitions), "\(a)") < (b.partition(of: partitions), "\(b)")
        }
        return [places[0], places[49]]
    }()

    /// Downloads that wait for their first byte, one on each device, in a process that looks for work each second.
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
            try await suite.task(1, of: device, until: "is under way") { $0.ends == [nil] }
        }
        try await body(suite, transfer)
    }

    @Test func ofAParkedDeviceKeepNobodyWaiting() async throws {
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
            #expect(try await suite.completed(1, of: well).ends == ["moverLost", "finished"])
            #expect(try await suite.task(1, of: sick).ends == [nil])
            // Also what comes later.
            let next = try await suite.download("http://127.0.0.1:\(suite.proxy.port)/content/film", on: well)
            #expect(try await suite.completed(next, of: well).ends == ["finished"])
            try await suite.free(sick)
            #expect(try await suite.completed(1, of: sick).ends == ["moverLost", "finished"])
        }
    }

    /// A mover that hears that its device is parked gives up; its lease goes on, since it has others to care for.
    @Test func ofALivingMoverAreTakenUpAgain() async throws {
        try await run(on: ["phone"]) { suite, transfer in
            try await suite.park("phone")
            suite.proxy.resume()
            try await transfer.waitForLine(containing: "failed to run an attempt", within: 60)
            #expect(try await suite.task(1).ends == [nil])
            try await suite.free("phone")
            #expect(try await suite.completed(1).ends == ["moverLost", "finished"])
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
