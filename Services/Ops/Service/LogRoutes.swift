import Contracts
import EventLog
import Foundation
import HTTPKit
import Hummingbird
import Identity
import Postgres
import Records
import ServiceKit
import Timeline

/// The consumers, the dead letters and the audit of the log over HTTP.
struct LogRoutes: Sendable {
    let queries: LogQueries
    let store: OpsStore

    func add(to table: inout RouteTable) {
        table.add(
            .get, "/v1/consumers", "Lists the read position and the lag of each consumer", .scope(.read),
            .refuses(Problem.ofLog)
        ) { _ in
            let consumers = try await asking { try await queries.consumers() }
            return Reply(Page(consumers.map { ConsumerDocument($0.name, $0.positions) }))
        }
        table.add(
            .get, "/v1/dead-letters", "Lists the dead letters of all services or of one", .scope(.read),
            .parameters(
                .text("service", "Only dead letters of this service"),
                .number("limit", 1...1000, "The maximum number of dead letters; 100 by default"),
                .cursor),
            .refuses([.invalidQuery] + Problem.ofLog), .unknownQuery(.refusedByHandler)
        ) { try await deadLetters($0) }
        table.add(
            .get, "/v1/log/check",
            "Checks that offsets have no gaps, and that randomly chosen states equal the fold of their events",
            .scope(.read),
            .parameters(
                .number("partition", -1...queries.partitions - 1, "Only this partition; -1, the default, checks all"),
                .number("folds", 0...1000, "The number of states to check per service and partition; 1 by default")),
            .refuses([.invalidQuery, .newerProgramNeeded] + Problem.ofLog)
        ) { call in
            let only = try call.number("partition", default: -1)
            let folds = try call.number("folds", default: 1)
            return Reply(try await asking { try await check(only < 0 ? nil : only, folds: folds) })
        }
    }

    private func deadLetters(_ call: Call) async throws -> Reply<Page<DeadLetterDocument>> {
        var query = QueryReader(call)
        let service = query.identifier("service")
        let position = query.value("cursor", "must be the next of a page") {
            DeadLetterCursor(LogIncarnation.plain($0))?.position
        }
        let limit = query.number("limit") ?? 100
        try query.finish()
        try query.refuseEarlierIncarnations(in: ["cursor"], call)
        let letters = try await asking {
            try await queries.deadLetters(of: service, after: position, limit: limit + 1)
        }
        if letters.isEmpty, let service { try await requireConsumer(service) }
        let page = letters.prefix(limit)
        let next = letters.count > limit ? page.last.map { DeadLetterCursor($0.position).text } : nil
        return Reply(call.marked(Page(page.map { DeadLetterDocument($0, call.context.incarnation) }, next: next)))
    }

    /// - Throws: `invalid_query` if no consumer has this name.
    private func requireConsumer(_ name: String) async throws {
        let names = try await asking { try await queries.consumers() }.map(\.name)
        let all = KnownNames.services + names.filter { !KnownNames.services.contains($0) }
        guard !all.contains(name) else { return }
        throw Problem.query([
            FieldError(
                pointer: "/service", detail: "is not a consumer; the consumers are \(all.joined(separator: ", "))")
        ])
    }

    private func check(_ only: Int?, folds: Int) async throws -> LogCheck {
        var check = LogCheck()
        for partition in only.map({ [$0] }) ?? Array(0..<queries.partitions) {
            check.add(try await queries.checkDensity(of: partition))
            for machine in KnownMachine.all where folds > 0 {
                check.add(try await machine.audit(partition, folds, store))
            }
        }
        return check
    }
}

/// A consumer with its position in each partition.
struct ConsumerDocument: Record {
    struct Place: Record {
        var attempts = 0
        var head = 0
        var lag = 0
        var offset = 0
        var owner: Nullable<String> = nil
        var partition = 0
        var waitingSince: Nullable<Instant> = nil
    }

    var lag = 0
    var name = ""
    var partitions: [Place] = []
    /// The real time at which the oldest unread event was appended.
    var waitingSince: Nullable<Instant> = nil

    init(_ name: String, _ positions: [ConsumerPosition]) {
        self.name = name
        lag = positions.reduce(0) { $0 + $1.lag }
        partitions = positions.map { known in
            Place(
                attempts: known.attempts, head: known.head, lag: known.lag, offset: known.offset,
                owner: known.owner?.uuidString.lowercased(), partition: known.partition,
                waitingSince: known.waitingSince.map { Instant(milliseconds: $0) })
        }
        waitingSince = partitions.compactMap(\.waitingSince).min()
    }
}

/// The result of the check of the log.
struct LogCheck: Record {
    struct Partition: Record {
        var count = 0
        /// `first-last` of each range of offsets with missing events.
        var faults: [String] = []
        var first = 0
        var last = 0
        var partition = 0
    }

    var dense = true
    /// The fold audit of each service.
    var folds: [FoldCheck] = []
    var partitions: [Partition] = []
    /// Whether offsets have no gaps and no state differs.
    var sound = true

    mutating func add(_ check: DensityCheck) {
        dense = dense && check.faults.isEmpty
        sound = sound && check.faults.isEmpty
        partitions.append(
            Partition(
                count: check.count, faults: check.faults.map { "\($0.lowerBound)-\($0.upperBound)" },
                first: check.first, last: check.last, partition: check.partition))
    }

    mutating func add(_ fold: FoldCheck) {
        guard fold.checked > 0 else { return }
        sound = sound && fold.differing.isEmpty
        if let index = folds.firstIndex(where: { $0.service == fold.service }) {
            folds[index].checked += fold.checked
            folds[index].differing += fold.differing
        } else {
            folds.append(fold)
        }
    }
}

/// A dead letter.
struct DeadLetterDocument: Record {
    var due: Nullable<Instant> = nil
    var key = ""
    /// `partition:offset`; nil for a deadline.
    var position: Nullable<String> = nil
    var reason: Nullable<String> = nil
    var service = ""
    /// The real time at which the input became a dead letter.
    var parkedAt = Instant.epoch

    init(_ letter: DeadLetterSummary, _ incarnation: LogIncarnation) {
        due = letter.due
        key = letter.key.description
        position = letter.offset.map { incarnation.marked("\(letter.partition):\($0)") }
        reason = letter.reason
        service = letter.consumer
        parkedAt = letter.parkedAt
    }
}
