import Contracts
import Postgres
import Records
import Synchronization
import Testing

/// Checks that each accepted notification of a flood is delivered, stored, held, or discarded with a reason.
struct FloodAccount {
    private struct Line: Sendable {
        var id: String
        var apnsID = ""
        var isSilent = false
        var entries: [(status: ConsoleStatus, cause: String?)] = []
        var words: [String] { entries.map(\.status.rawValue) }
        /// The states of the notification, in order.
        var places: [ConsoleStatus] {
            entries.map(\.status).compactMap { status in
                // A granted wake delivers a silent notification to its app.
                if status == .wokeApp { return isSilent ? .acknowledged : nil }
                return FloodAccount.places.contains(status) ? status : nil
            }
        }
        var last: ConsoleStatus { places.last ?? .received }
    }

    private static let deliveries: Set<ConsoleStatus> = [.delivered, .deliveredFromStorage]
    private static let stores: Set<ConsoleStatus> = [.storedOffline, .storedPower]
    private static let holds: Set<ConsoleStatus> = [.heldBudget, .heldLowPower, .heldRefused]
    private static let waits = stores.union(holds)
    private static let ends: Set<ConsoleStatus> = [
        .discardedExpired, .discardedNotWoken, .discardedAppKilled, .discardedStorageFull, .replaced,
    ]
    private static let places = deliveries.union(waits).union(ends).union([.received, .acknowledged])

    private let flood: Flood
    private let accepted: [String: Flood.Sent]
    private let copies: [String: Int]
    private let acknowledged: Set<String>

    init(_ flood: Flood) {
        self.flood = flood
        accepted = flood.accepted.withLock { $0 }
        copies = flood.copies.withLock { $0 }
        acknowledged = flood.acknowledged.withLock { $0 }
    }

    /// - Precondition: no request is in progress, and ``Flood/settle(_:port:)`` has ended.
    func check(_ suite: PushSuite, port: Int) async throws {
        var stored: [String: [String]] = [:]
        var held: [String: [String]] = [:]
        var seen: [ConsoleStatus: Int] = [:]
        let lines = try await lines(suite)
        let known = Set(lines.map(\.id))
        var missing = Set(accepted.keys)
        for line in lines {
            // A request without an answer may have been accepted.
            guard let sent = accepted[line.apnsID] else { continue }
            #expect(missing.remove(line.apnsID) != nil, "\(line.apnsID) was accepted twice")
            check(line, sent)
            seen[line.last, default: 0] += 1
            if Self.stores.contains(line.last) { stored[sent.device, default: []].append(line.id) }
            if Self.holds.contains(line.last) { held[sent.device, default: []].append(line.id) }
            // The replacement is a notification, too.
            for entry in line.entries where entry.status == .replaced {
                #expect(entry.cause.map { known.contains($0) } == true, "\(line.id) is replaced by nothing")
            }
        }
        #expect(missing.isEmpty, "lost: \(missing)")
        try await explain(lines, suite, port: port)
        // Each app has one slot of each kind.
        for slots in [stored, held] {
            for (device, ids) in slots { #expect(ids.count == 1, "\(device) keeps \(ids)") }
        }
        try await fetch(stored, suite, port: port)
        // The flood covered all outcomes.
        #expect(seen[.acknowledged, default: 0] > 0 && seen[.replaced, default: 0] > 0, "\(seen)")
        #expect(!stored.isEmpty && !held.isEmpty, "\(seen)")
        if flood.variation == .mixed { #expect(seen[.discardedExpired, default: 0] > 0, "\(seen)") }
    }

    private func check(_ line: Line, _ sent: Flood.Sent) {
        func expect(_ condition: Bool, _ what: String) {
            guard !condition else { return }
            Issue.record("\(what): \(sent) \(line.id) \(line.words), \(copies[line.id] ?? 0) copies")
        }
        let places = line.places
        expect(places.first == .received && !places.dropFirst().contains(.received), "not received exactly once")
        expect(places.count > 1, "nothing happened after it was received")
        // The allowed last states.
        if line.last == .discardedExpired { expect(sent.expiration == .zero, "expired too early") }
        if line.last == .discardedNotWoken { expect(sent.silent, "not woken, but not silent") }
        if sent.expiration == .zero { expect(Self.waits.isDisjoint(with: places), "kept, with expiration 0") }
        if Self.holds.contains(line.last) { expect(sent.silent, "held, but not silent") }
        // Nothing follows an end state. A replacement may follow an acknowledgement.
        if let end = places.firstIndex(where: { Self.ends.contains($0) }) {
            expect(end == places.count - 1, "a state after its end")
        }
        if let known = places.firstIndex(of: .acknowledged) {
            expect(Self.deliveries.isDisjoint(with: places[known...]), "sent again after it was acknowledged")
            expect(copies[line.id] != nil, "acknowledged, but never delivered")
        }
        // At most one delivery for each send, and no answered acknowledgement is lost.
        let sendings = places.count { Self.deliveries.contains($0) }
        expect(copies[line.id, default: 0] <= sendings, "delivered more often than sent")
        if acknowledged.contains(line.id) {
            expect(places.contains(.acknowledged) || Self.ends.contains(line.last), "an acknowledgement is lost")
        }
        expect(!Self.deliveries.contains(line.last), "sent, but neither acknowledged nor stored")
    }

    /// Checks that polls return the stored notifications.
    private func fetch(_ stored: [String: [String]], _ suite: PushSuite, port: Int) async throws {
        for (device, ids) in stored {
            let items = try await flood.poll(suite, device, port: port)
            let came = items.compactMap { $0["id"]?.string }
            for id in ids where !came.contains(id) {
                // A silent notification may wait for its budget.
                let words = try await timeline(id, suite, port: port)
                #expect(words.last == ConsoleStatus.heldBudget.rawValue, "\(device) did not get \(id): \(words)")
            }
            for id in came { #expect(!acknowledged.contains(id), "\(id) was delivered again") }
        }
    }

    // MARK: Timelines

    /// Reads the timelines of all notifications from the log.
    private func lines(_ suite: PushSuite) async throws -> [Line] {
        let events = Statement(
            """
            SELECT type, version::int8, data::text FROM bus.events WHERE data ->> 'notification' IS NOT NULL
                AND source = 'push' ORDER BY partition, log_offset
            """)
        return try await suite.withDatabase { pool in
            var lines: [String: Line] = [:]
            for (type, version, data) in try await pool.execute(Query(events)).decode((String, Int, [UInt8]).self) {
                let event = try PushEvent(type: type, version: version, data: data)
                guard let status = event.status else { continue }
                var line = lines[status.notification] ?? Line(id: status.notification)
                if case .notificationReceived(let received) = event {
                    line.apnsID = received.apnsID
                    line.isSilent = received.silent
                }
                line.entries.append((status.status, status.cause))
                lines[status.notification] = line
            }
            return Array(lines.values)
        }
    }

    /// Compares the timeline API with the log, for one notification of each last state.
    private func explain(_ lines: [Line], _ suite: PushSuite, port: Int) async throws {
        for line in Dictionary(lines.map { ($0.last, $0) }, uniquingKeysWith: { first, _ in first }).values {
            for id in [line.id, line.apnsID] {
                let words = try await timeline(id, suite, port: port)
                // Further statuses may have followed.
                #expect(words.starts(with: line.words), "\(id): \(words)")
            }
        }
    }

    private func timeline(_ id: String, _ suite: PushSuite, port: Int) async throws -> [String] {
        let document = try await suite.send("GET", "/v1/notifications/\(id)", port: port).json
        return document["statuses"]?.items?.compactMap { $0["status"]?.string } ?? []
    }
}
