import EventLog
import Foundation
@testable import Identity
import Logging
import Records
import Synchronization
import Telemetry
import TestSupport
import Testing
import Timeline

@testable import ServiceKit

/// The file of operators' keys, which may change while the service runs.
@Suite("Operator key file") struct OperatorKeyFileTests {
    private static let alice = Credential("alice's key")
    private static let bob = Credential("bob's key")

    private static func line(_ name: String, _ scopes: Set<Caller.Scope> = [.read, .operate]) -> String {
        OperatorKeys.line(name: name, scopes: scopes, key: "\(name)'s key")
    }

    /// The audit trail, whose database may be away.
    private final class Rows: Sendable {
        private let state = Mutex<(rows: [AuditEntry], isAway: Bool)>(([], false))
        var all: [AuditEntry] { state.withLock { $0.rows } }
        func set(isAway: Bool) { state.withLock { $0.isAway = isAway } }
        func add(_ entry: AuditEntry) throws {
            try state.withLock { state in
                if state.isAway { throw CancellationError() }
                state.rows.append(entry)
            }
        }
    }

    @Test func `each change leaves a row with the names of the keys, once the database answers`() async throws {
        let rows = Rows()
        let names = ["alice", "bob", "carol"]
        try await withFile(names.map { Self.line($0) }, rows: rows) { file, _, write in
            rows.set(isAway: true)
            let changed = [Self.line("bob", [.read]), Self.line("carol"), Self.line("dan")]
            try write(changed.joined(separator: "\n"))
            file.reload()
            await file.writeEntries()
            try write("nonsense")
            file.reload()
            await file.writeEntries()
            #expect(rows.all.isEmpty)
            rows.set(isAway: false)
            // The same keys in another order are no change.
            let reordered = [Self.line("carol"), Self.line("dan"), Self.line("bob", [.read])]
            try write(reordered.joined(separator: "\n"))
            file.reload()
            await file.writeEntries()
            await file.writeEntries()
            #expect(rows.all.count == 1)
            let row = try #require(rows.all.first)
            #expect(row.action == .operatorKeysReloaded && row.subject == "operatorKeys")
            #expect(row.details == ["added": ["dan"], "changed": ["bob"], "removed": ["alice"]])
        }
    }

    /// Calls the body with a key file, and a function that rewrites it.
    private func withFile(
        _ lines: [String], rows: Rows = Rows(), clock: any SuiteClock = RealClock(),
        _ body: (OperatorKeyFile, LogLines, (String) throws -> Void) async throws -> Void
    ) async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: path) }
        func write(_ text: String) throws { try Data(text.utf8).write(to: path) }
        try write(lines.joined(separator: "\n"))
        let log = LogLines()
        let logger = Logger(label: "keys") { _ in
            LogOutput(label: "keys", level: .info, format: .json, write: log.append)
        }
        let configuration = ServiceConfiguration(SettingsReader(["OPERATOR_KEY_FILE": path.path]), port: 1)
        let file = try OperatorKeyFile(configuration, interval: .milliseconds(1), clock: clock, logger: logger) {
            try rows.add($0)
        }
        try await body(file, log, write)
    }

    @Test func `a new key is valid and a removed key invalid after the next reading`() async throws {
        try await withFile([Self.line("alice")]) { file, _, write in
            #expect(file.keyring.caller(presenting: Self.alice) != nil)
            #expect(file.keyring.caller(presenting: Self.bob) == nil)
            try write(Self.line("bob"))
            file.reload()
            #expect(file.keyring.caller(presenting: Self.alice) == nil)
            #expect(file.keyring.caller(presenting: Self.bob) != nil)
        }
    }

    @Test func `the streams of a removed key end, and those of other keys go on`() async throws {
        try await withFile([Self.line("alice"), Self.line("bob")]) { file, _, write in
            let removed = file.keyring.voiding(of: Self.alice)
            let kept = file.keyring.voiding(of: Self.bob)
            #expect(file.keyring.watches == 2)
            try write(Self.line("bob"))
            file.reload()
            #expect(await removed.first { _ in true } != nil)
            #expect(file.keyring.watches == 1)
            // A stream of a key that is already invalid ends at once.
            #expect(await file.keyring.voiding(of: Self.alice).first { _ in true } != nil)
            withExtendedLifetime(kept) {}
        }
    }

    @Test func `the streams of a key with other scopes end`() async throws {
        try await withFile([Self.line("alice")]) { file, _, write in
            let stream = file.keyring.voiding(of: Self.alice)
            try write(Self.line("alice", [.read]))
            file.reload()
            #expect(await stream.first { _ in true } != nil)
        }
    }

    @Test func `an invalid file changes nothing, and one log line says so`() async throws {
        try await withFile([Self.line("alice")]) { file, log, write in
            try write("alice read")
            for _ in 0..<3 { file.reload() }
            #expect(file.keyring.caller(presenting: Self.alice) != nil)
            #expect(log.all.filter { $0.contains("failed to reload operator keys") }.count == 1)
            #expect(log.all.contains { $0.contains("OPERATOR_KEY_FILE, line 1") })
            #expect(file.fault?.contains("OPERATOR_KEY_FILE, line 1") == true, "a check of /readyz reports it")
            try write(Self.line("bob"))
            file.reload()
            #expect(file.fault == nil)
        }
    }

    @Test func `a key is invalid from its expiry on, and its streams end`() async throws {
        let clock = ManualClock(try #require(Instant("2026-11-25T23:59:59Z")))
        let keys = try OperatorKeys(file: Self.line("alice") + " 2026-11-26T00:00:00Z")
        let keyring = OperatorKeyring(keys, clock: clock)
        #expect(keyring.caller(presenting: Self.alice) != nil)
        let stream = keyring.voiding(of: Self.alice)
        keyring.endExpired()
        #expect(keyring.watches == 1)
        clock.advance(to: try #require(Instant("2026-11-26T00:00:00Z")))
        #expect(keyring.caller(presenting: Self.alice) == nil)
        keyring.endExpired()
        #expect(await stream.first { _ in true } != nil)
        #expect(keyring.watches == 0)
    }

    @Test func `a running service ends the streams of a key that expires`() async throws {
        let clock = ManualClock(try #require(Instant("2026-11-25T23:59:59Z")))
        try await withFile([Self.line("alice") + " 2026-11-26T00:00:00Z"], clock: clock) { file, _, _ in
            let service = Task { try await file.run() }
            defer { service.cancel() }
            let stream = file.keyring.voiding(of: Self.alice)
            clock.advance(to: try #require(Instant("2026-11-26T00:00:00Z")))
            _ = try await withTimeout(seconds: 60, "the stream ends") { await stream.first { _ in true } }
        }
    }

    @Test func `a line with an invalid expiry is refused`() {
        #expect(throws: OperatorKeys.InvalidLine.self) { try OperatorKeys(file: Self.line("alice") + " tomorrow") }
    }
}
