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
            .get, "/v1/consumers", "Lists the read position and the lag of each consumer", access: .scope(.read),
            problems: Problem.ofLog
        ) { _, _ in
            let consumers = try await asking { try await queries.consumers() }
            return Response(
                json: Listing(consumers.map { ConsumerDocument($0.name, $0.positions).jsonBytes }).bytes)
        }
        table.add(
            .get, "/v1/dead-letters", "Lists the dead letters of all services or of one",
            access: .scope(.read),
            parameters: [
                .text("service", "Only dead letters of this service"),
                .number("limit", 1...1000, "The maximum number of dead letters; 100 by default"),
                .text("cursor", "The `next` of the previous page"),
            ],
            problems: [.invalidQuery] + Problem.ofLog, unknownQuery: .refusedByHandler
        ) { request, _ in
            let query = try DeadLetterQuery(request)
            let letters = try await asking {
                try await queries.deadLetters(of: query.service, after: query.position, limit: query.limit + 1)
            }
            if letters.isEmpty, let service = query.service { try await requireConsumer(service) }
            let page = letters.prefix(query.limit)
            let next = letters.count > query.limit ? page.last.map { DeadLetterCursor($0.position).text } : nil
            return Response(json: Listing(page.map { DeadLetterDocument($0).jsonBytes }, next: next).bytes)
        }
        table.add(
            .get, "/v1/log/check",
            "Checks that offsets have no gaps, and that randomly chosen states equal the fold of their events",
            access: .scope(.read),
            parameters: [
                .number("partition", -1...queries.partitions - 1, "Only this partition; -1, the default, checks all"),
                .number("folds", 0...1000, "The number of states to check per service and partition; 1 by default"),
            ],
            response: LogCheck.self,
            problems: [.invalidQuery, .newerProgramNeeded] + Problem.ofLog
        ) { request, _ in
            let only = try request.query("partition", in: -1...queries.partitions - 1, default: -1)
            let folds = try request.query("folds", in: 0...1000, default: 1)
            return Response(try await asking { try await check(only < 0 ? nil : only, folds: folds) })
        }
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

/// The query of `/v1/dead-letters`.
private struct DeadLetterQuery {
    private(set) var service: String?
    /// The page begins after this position.
    private(set) var position: DeadLetterPosition?
    private(set) var limit = 100

    init(_ request: Request) throws(Problem) {
        var faults: [FieldError] = []
        for (key, value) in request.uri.queryParameters {
            let (name, text) = (String(key), String(value))
            switch name {
            case "service" where isIdentifier(text): service = text
            case "service":
                faults.append(
                    FieldError(pointer: "/service", detail: "must be an identifier: 1 to 128 of A-Z a-z 0-9 . _ : -"))
            case "limit":
                limit = Int(text) ?? 0
                if !(1...1000).contains(limit) {
                    faults.append(FieldError(pointer: "/limit", detail: "must be from 1 to 1000"))
                }
            case "cursor":
                position = DeadLetterCursor(text)?.position
                if position == nil {
                    faults.append(FieldError(pointer: "/cursor", detail: "must be the next of a page"))
                }
            default:
                let detail = "is not a parameter of this route; the parameters are service, limit, cursor"
                faults.append(FieldError(pointer: isIdentifier(name) ? "/\(name)" : "", detail: detail))
            }
        }
        guard faults.isEmpty else {
            throw .query(faults)
        }
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
            var position = Place()
            position.attempts = known.attempts
            position.head = known.head
            position.lag = known.lag
            position.offset = known.offset
            position.owner = known.owner?.uuidString.lowercased()
            position.partition = known.partition
            position.waitingSince = known.waitingSince.map { Instant(milliseconds: $0) }
            return position
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
        var partition = Partition()
        partition.count = check.count
        partition.faults = check.faults.map { "\($0.lowerBound)-\($0.upperBound)" }
        partition.first = check.first
        partition.last = check.last
        partition.partition = check.partition
        partitions.append(partition)
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
    var setAsideAt = Instant.epoch

    init(_ letter: DeadLetterSummary) {
        due = letter.due
        key = letter.key.description
        position = letter.offset.map { "\(letter.partition):\($0)" }
        reason = letter.reason
        service = letter.consumer
        setAsideAt = letter.setAsideAt
    }
}
