import Contracts
import EventLog
import Foundation
import HTTPKit
import Logging
import Postgres
import PushCore
import Runtime
import ServiceKit
import Telemetry
import TestSupport
import Testing
import Timeline

@testable import PushService

/// The provider endpoint without a transport.
@Suite(.tags(.database), .timeLimit(.minutes(2))) struct ProviderEndpointTests {
    private static let partitions = 4

    @Test func `a request holds a slot until its answer`() async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let cluster = try await PrivateCluster.shared()
        let options = try ConnectionOptions(url: try await cluster.makeDatabase())
        let blocker = try await Connection.open(options, logger: logger)
        try await RuntimeSchema.migrate(
            service: "push", blocker, partitions: Self.partitions, rolePassword: nil, more: try PushStore.migrations(),
            logger: logger)
        let pool = ConnectionPool(options, size: 4, acquisitionTimeout: .seconds(60), logger: logger)
        let endpoint = endpoint(pool, options, ProviderSlots(limit: 4), logger)
        // The search for the device of a token waits.
        try await blocker.script("BEGIN; LOCK TABLE push.states")
        try await withThrowingTaskGroup(of: ProviderAnswer.self) { group in
            for topic in ["com.example.a", "com.example.a", "com.example.b"] {
                group.addTask { await self.notify(endpoint, topic) }
            }
            try await eventually(describe: "three requests wait") {
                try await pool.execute(Query(Self.waiting))[0].decode(Int.self) == 3
            }
            let refused = await notify(endpoint, "com.example.a")
            #expect(refused.reason == .serviceUnavailable, "two of four slots are the most for one provider")
            try await blocker.script("ROLLBACK")
            for try await answer in group { #expect(answer.reason == .badDeviceToken) }
        }
        #expect(await notify(endpoint, "com.example.a").reason == .badDeviceToken)
        await pool.close()
        await blocker.close()
    }

    /// The sessions of this database that wait for a lock.
    private static let waiting = Statement(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")

    private func endpoint(
        _ pool: ConnectionPool, _ options: ConnectionOptions, _ slots: ProviderSlots, _ logger: Logger
    ) -> ProviderEndpoint {
        let clock = SharedClock()
        let runtime = DurableRuntime<PushMachine>(
            pool: pool, options: options, partitions: Self.partitions, clock: clock,
            policy: PushPolicy(partitions: Self.partitions) { _, _ in 0 }, logger: logger)
        let store = PushStore(pool: pool, partitions: Self.partitions)
        let relay = BroadcastRelay(store: store, runtime: runtime, metrics: Metrics(), logger: logger)
        return ProviderEndpoint(
            environment: .sandbox, commands: Commands(runtime), store: store, keys: ProviderKeys(store),
            channels: ProviderChannels(store: store, feature: .all, relay: relay), clock: clock,
            failures: FailedCredentials(), logger: logger, slots: slots)
    }

    /// Sends a notification to a token of its own, with the certificate of an app.
    private func notify(_ endpoint: ProviderEndpoint, _ topic: String) async -> ProviderAnswer {
        let digits = (0..<60).map { _ in "0123456789abcdef".randomElement() ?? "0" }
        let token = "0000" + String(digits)
        let request = ProviderRequest(
            method: "POST", path: "/3/device/\(token)", headers: [("apns-topic", topic)],
            body: Array(#"{"aps":{"alert":"Hello"}}"#.utf8))
        let certificate = ClientCertificate(topic: topic, environments: [.sandbox])
        return await endpoint.answer(request, on: ProviderConnection(certificate: certificate), traceparent: nil)
    }
}
