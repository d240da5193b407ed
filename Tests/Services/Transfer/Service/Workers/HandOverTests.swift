import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing
import TransferCore

/// Hand-over between workers, and their reports.
@Suite(.tags(.database, .processes), .serialized) struct HandingOver {
    /// The lease lasts an hour, so the second worker can continue only because the first one hands over.
    @Test func `a stopping worker hands over its attempts`() async throws {
        let origin = try await ContentOrigin.start()
        defer { origin.process.signal(SIGTERM) }
        let files = try await origin.put([20 << 20], seed: 13)
        let proxy = try await TCPProxy.start(port: origin.port)
        let (suite, first) = try await TransferSuite.start(origins: ["http://127.0.0.1:\(proxy.port)"])
        _ = try await suite.sql(
            """
            CREATE FUNCTION transfer.prolong() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF NEW.expires_at > now() THEN NEW.expires_at := now() + interval '1 hour'; END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER prolong BEFORE INSERT OR UPDATE ON transfer.workers
                FOR EACH ROW EXECUTE FUNCTION transfer.prolong();
            UPDATE transfer.workers SET expires_at = expires_at
            """)
        try await proxy.pause()
        let downloads = try await Downloads.begin(files, from: proxy.port, on: suite, devices: 1)
        try await proxy.trickle(until: "some bytes are reported") {
            try await downloads.states()["phone-0"]?.first?.bytesReceived ?? 0 > 0
        }
        let port = try freePort()
        let second = try await suite.startTransfer(port: port)
        defer { second.signal(SIGTERM) }
        first.signal(SIGTERM)
        #expect(try await first.exit() == .exited(0))
        // The second worker may have connected already.
        #expect(proxy.connections <= 1)
        proxy.resume()
        let task = Downloads.session("phone-0") + "/tasks/1"
        try await eventually(describe: "the second worker has finished the task") {
            try await suite.call(.GET, port, task).json["state"]?.string == "completed"
        }
        let done = try await suite.call(.GET, port, task).json
        #expect(done.ends == ["workerLost", "finished"] && done["sha256"]?.string == files[0].sha256)
        #expect(done["attempts"]?[1]?["from"]?.int ?? 0 > 0, "the second attempt resumes by range")
    }

    /// Progress is reported once per MiB, at the end of each attempt, and after five seconds without a report.
    @Test func `progress events are limited to about one per MiB`() async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        let bytes = noise(20 << 20, seed: 14)
        _ = try await suite.send(.PUT, suite.transferPort, "/content/big", bytes)
        try await suite.prepare("phone")
        let began = ContinuousClock.now
        try await suite.proxy.pause()
        try await suite.downloadSome(of: "big")
        try await suite.proxy.cutAll()
        // Many small pieces would allow more reports.
        try await suite.proxy.trickle(until: "the task is completed") {
            try await suite.task(1)["state"]?.string == "completed"
        }
        let done = try await suite.task(1)
        let silences = Int((ContinuousClock.now - began) / .seconds(5))
        #expect(done.ends == ["connectionLost", "finished"] && done["sha256"]?.string == sha256(bytes))
        let told = try await suite.events("phone").count { $0 == "transfer.progress.made" }
        #expect(told >= 2 && told <= 20 + done.ends.count + silences, "\(told)")
    }
}
