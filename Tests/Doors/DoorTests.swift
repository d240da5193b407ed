import Contracts
import Foundation
import Machines
import OrderedCollections
import Records
import TestSupport
import Testing

/// Every reader can read each accepted document.
@Suite struct DoorTests {
    /// The number of documents in each run; a million by hand, with `DORMOUSE_DOCUMENTS=1000000`.
    private static let count = ProcessInfo.processInfo.environment["DORMOUSE_DOCUMENTS"].flatMap { Int($0) } ?? 2000
    /// The number of consecutive documents for the same device.
    private static let row = 20

    @Test func `every accepted document is decided, folded, written and read again`() async throws {
        let devices = try DoorSuite.devices()
        var (taken, refused): ([String: Int], [String: Int]) = ([:], [:])
        let start = ContinuousClock.now
        try await propertyTest(count: max(1, Self.count / Self.row)) { random in
            var documents = HostileDocuments(seed: random.next())
            var suite = documents.pick(devices)
            for _ in 0..<Self.row {
                let door = documents.pick(Door.all)
                let isAny = documents.below(door.isFreeForm ? 2 : 10) == 0
                let document = isAny ? documents.next() : documents.nextBody(like: door.template)
                let before = suite
                do {
                    try door.take(document, &suite, &documents)
                    try Self.check(suite, after: before)
                    taken[door.name, default: 0] += 1
                } catch  where Door.isRefusal(error) {
                    suite = before
                    refused[door.name, default: 0] += 1
                    continue
                } catch {
                    throw DoorFault("\(door.name) accepted \(String(decoding: document, as: UTF8.self)): \(error)")
                }
                guard documents.below(4) == 0 else { continue }
                for _ in 0..<3 {
                    let before = suite
                    try suite.advance()
                    try Self.check(suite, after: before)
                }
            }
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let sum = taken.values.reduce(0, +)
        print("\(Self.count) documents, \(sum) accepted, \(Int(Double(Self.count) / seconds)) a second")
        if Self.count > 10_000 {
            for door in Door.all {
                print("\(door.name): \(taken[door.name] ?? 0) accepted, \(refused[door.name] ?? 0) refused")
            }
        }
        #expect(sum > Self.count / 6)
        if Self.count > 2000 { #expect(Set(Door.all.map(\.name)).subtracting(taken.keys).isEmpty) }
    }

    /// Every route that accepts a document must have a ``Door``.
    @Test func `every route that accepts a document is covered`() throws {
        var documents: Set<String> = []
        for service in ["Lifecycle", "Fetch", "Push", "Transfer", "Ops"] {
            let folder = Repository.file("Services/\(service)")
            let files = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
            for file in files where file.hasSuffix(".swift") {
                let source = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
                for match in source.matches(of: /(?:document\(as|body): ([A-Za-z]+)\.self/) {
                    documents.insert("\(service.lowercased()).\(match.1)")
                }
            }
        }
        #expect(documents.count > 20)
        #expect(documents.subtracting(Door.all.map(\.name)).isEmpty)
    }

    /// The new state is the fold of the new events, and every reader can read them.
    private static func check(_ suite: DoorSuite, after before: DoorSuite) throws {
        for event in suite.appended { try Readers.check(event) }
        try check(\.lifecycle, suite, before)
        try check(\.fetch, suite, before)
        try check(\.push, suite, before)
        try check(\.transfer, suite, before)
    }

    private static func check<M: Machine>(_ place: DoorSuite.Place<M>, _ suite: DoorSuite, _ before: DoorSuite) throws {
        let (old, new) = (before[keyPath: place], suite[keyPath: place])
        guard new.log.count > old.log.count, let aggregate = new.aggregates[DoorSuite.key] else { return }
        var folded = old.aggregates[DoorSuite.key] ?? Aggregate(key: DoorSuite.key)
        try folded.fold(Array(new.log[old.log.count...]))
        guard folded.state.binary == aggregate.state.binary, folded.eventCount == aggregate.eventCount else {
            throw DoorFault("the state of \(M.name) is not the fold of its events")
        }
        try Readers.check(aggregate)
    }
}
