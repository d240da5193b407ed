import Contracts
import Records
import Synchronization
import Testing

/// What must have become of everything that a flood was answered 200 for: delivered, stored, held, or discarded with a reason.
struct FloodAccount {
    private struct Line: Sendable {
        var id: String
        var entries: [(status: ConsoleStatus, cause: String?)] = []
        /// Where it was, one place after the other.
        var places: [ConsoleStatus] = []
        var last: ConsoleStatus { places.last ?? .received }
    }

    private static let deliveries: Set<ConsoleStatus> = [.delivered, .deliveredFromStorage]
    private static let stores: Set<ConsoleStatus> = [.storedOffline, .storedPower]
    private static let holds: Set<ConsoleStatus> = [.heldBudget, .heldLowPower, .heldRefused]
    private static let waits = stores.union(holds)
    private static let ends: Set<ConsoleStatus> = [
        .discardedExpired, .discardedNotWoken, .discardedStorageFull, .replaced,
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

    /// - Precondition: nothing is under way any more, and the devices that held connections took what there was.
    func check(_ suite: PushSuite, port: Int) async throws {
        var stored: [String: [String]] = [:]
        var held: [String: [String]] = [:]
        var replacers: Set<String> = []
        var seen: [ConsoleStatus: Int] = [:]
        for (apnsID, line) in try await timelines(suite, port: port) {
            guard let sent = accepted[apnsID] else { continue }
            check(line, sent)
            seen[line.last, default: 0] += 1
            if Self.stores.contains(line.last) { stored[sent.device, default: []].append(line.id) }
            if Self.holds.contains(line.last) { held[sent.device, default: []].append(line.id) }
            for entry in line.entries where entry.status == .replaced { replacers.insert(entry.cause ?? "nothing") }
        }
        // What took a place was a notification itself.
        for id in replacers {
            let found = try await suite.send("GET", "/v1/notifications/\(id)", port: port)
            #expect(found.status == 200 && found.json["id"]?.string == id, "replaced by \(id)")
        }
        // One each: the slots of the app.
        for slots in [stored, held] {
            for (device, ids) in slots { #expect(ids.count == 1, "\(device) keeps \(ids)") }
        }
        try await fetch(stored, suite, port: port)
        // All of it did happen.
        #expect(seen[.acknowledged, default: 0] > 0 && seen[.replaced, default: 0] > 0, "\(seen)")
        #expect(!stored.isEmpty && !held.isEmpty, "\(seen)")
        if flood.variation == .mixed { #expect(seen[.discardedExpired, default: 0] > 0, "\(seen)") }
    }

    private func check(_ line: Line, _ sent: Flood.Sent) {
        let words = line.entries.map(\.status.rawValue)
        func expect(_ condition: Bool, _ what: String) {
            if !condition { Issue.record("\(what): \(sent) \(line.id) \(words), \(copies[line.id] ?? 0) copies") }
        }
        let places = line.places
        expect(places.first == .received && !places.dropFirst().contains(.received), "received once")
        expect(places.count > 1, "it got further than being received")
        // Where it may end.
        if line.last == .discardedExpired { expect(sent.expiration == .zero, "expired too early") }
        if line.last == .discardedNotWoken { expect(sent.silent, "only silent ones need a wake") }
        if sent.expiration == .zero { expect(Self.waits.isDisjoint(with: places), "kept, with expiration 0") }
        if Self.holds.contains(line.last) { expect(sent.silent, "held, but not silent") }
        // Nothing comes after an end: but a replacement may take away what was acknowledged and shown.
        if let end = places.firstIndex(where: { Self.ends.contains($0) }) {
            expect(end == places.count - 1, "it goes on behind its end")
        }
        if let known = places.firstIndex(of: .acknowledged) {
            expect(Self.deliveries.isDisjoint(with: places[known...]), "sent again after it was acknowledged")
            expect(copies[line.id] != nil, "acknowledged, but by nobody")
        }
        // Devices got it as often as it was sent to them at most, and who was answered for an acknowledgement is heard.
        let sendings = places.count { Self.deliveries.contains($0) }
        expect(copies[line.id, default: 0] <= sendings, "it came more often than it was sent")
        if acknowledged.contains(line.id) {
            expect(places.contains(.acknowledged) || Self.ends.contains(line.last), "an acknowledgement is lost")
        }
        expect(!Self.deliveries.contains(line.last), "sent, and never taken")
    }

    /// What is stored comes to the device that asks.
    private func fetch(_ stored: [String: [String]], _ suite: PushSuite, port: Int) async throws {
        for (device, ids) in stored {
            let items = try await flood.poll(suite, device, port: port)
            let came = items.compactMap { $0["id"]?.string }
            for id in ids where !came.contains(id) {
                // A silent one may have to wait for its budget.
                let (_, line) = try await timeline(id, isSilent: true, suite, port: port)
                #expect(line.last == .heldBudget, "\(device) did not get \(id): \(line.entries.map(\.status.rawValue))")
            }
            for id in came {
                #expect(!acknowledged.contains(id), "\(id) came again")
            }
        }
    }

    // MARK: Timelines

    private func timelines(_ suite: PushSuite, port: Int) async throws -> [(String, Line)] {
        try await withThrowingTaskGroup(of: (String, Line).self) { group in
            var rest = Array(accepted)[...]
            func start() {
                guard let (id, sent) = rest.popFirst() else { return }
                group.addTask { try await timeline(id, isSilent: sent.silent, suite, port: port) }
            }
            for _ in 0..<6 { start() }
            var lines: [(String, Line)] = []
            while let line = try await group.next() {
                lines.append(line)
                start()
            }
            return lines
        }
    }

    /// - Returns: its `apns-id` with its timeline.
    private func timeline(
        _ id: String, isSilent: Bool, _ suite: PushSuite, port: Int
    ) async throws -> (String, Line) {
        let document = try await suite.send("GET", "/v1/notifications/\(id)", port: port).json
        let entries = (document["statuses"]?.items ?? []).map { entry in
            (ConsoleStatus(rawValue: entry["status"]?.string ?? "") ?? .received, entry["cause"]?.string)
        }
        var line = Line(id: document["id"]?.string ?? id, entries: entries)
        line.places = entries.map(\.0).compactMap { status in
            // A silent notification is nothing but its wake: the app has it.
            if status == .wokeApp { return isSilent ? .acknowledged : nil }
            return Self.places.contains(status) ? status : nil
        }
        return (id, line)
    }
}
