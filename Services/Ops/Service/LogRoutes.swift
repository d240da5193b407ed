import Contracts
import EventLog
import Foundation
import Hummingbird
import Postgres
import Records
import ServiceKit
import Timeline

/// How the log and its consumers are.
struct LogRoutes: Sendable {
    let queries: LogQueries
    let pool: ConnectionPool

    func add(to table: inout RouteTable) {
        table.add(
            .get, "/v1/consumers", "How far each consumer has read each partition", access: .scope(.read),
            problems: Problem.ofLog
        ) { _, _ in
            let consumers = try await asking { try await queries.consumers() }
            return Response(
                json: Listing(consumers.map { ConsumerDocument($0.name, $0.places).jsonBytes }).bytes)
        }
        table.add(
            .get, "/v1/dead-letters", "What consumers have set aside, of all or of ?service=; limit, cursor",
            access: .scope(.read),
            parameters: [
                .text("service", "Of this service only"),
                .number("limit", 1...1000, "The most of the answer; 100 by default"),
                .text("cursor", "The `next` of the former answer"),
            ],
            problems: [.invalidQuery] + Problem.ofLog, unknownQuery: .refusedByHandler
        ) { request, _ in
            let query = try LetterQuery(request)
            let letters = try await asking {
                try await queries.deadLetters(of: query.service, after: query.place, limit: query.limit + 1)
            }
            if letters.isEmpty, let service = query.service { try await requireConsumer(service) }
            let told = letters.prefix(query.limit)
            let next = letters.count > query.limit ? told.last.map { LetterCursor($0.place).text } : nil
            return Response(json: Listing(told.map { LetterDocument($0).jsonBytes }, next: next).bytes)
        }
        table.add(
            .get, "/v1/log/check",
            "Whether offsets are dense and states are what the log makes of them: ?partition=, and ?folds= states of each "
                + "service and partition, chosen by chance (default 1)",
            access: .scope(.read),
            parameters: [
                .number("partition", -1...queries.partitions - 1, "Of this partition only; -1, the default, is all"),
                .number("folds", 0...1000, "How many states of each service and partition; 1 by default"),
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
            Fault(pointer: "/service", detail: "is no consumer; there are \(all.joined(separator: ", "))")
        ])
    }

    private func check(_ only: Int?, folds: Int) async throws -> LogCheck {
        var check = LogCheck()
        for partition in only.map({ [$0] }) ?? Array(0..<queries.partitions) {
            check.add(try await queries.checkDensity(of: partition))
            for machine in KnownMachine.all where folds > 0 {
                check.add(try await machine.audit(partition, folds, pool))
            }
        }
        return check
    }
}

/// What `/v1/dead-letters` is asked.
private struct LetterQuery {
    private(set) var service: String?
    /// Behind this one.
    private(set) var place: LetterPlace?
    private(set) var limit = 100

    init(_ request: Request) throws(Problem) {
        var faults: [Fault] = []
        for (key, value) in request.uri.queryParameters {
            let (name, text) = (String(key), String(value))
            switch name {
            case "service" where isIdentifier(text): service = text
            case "service": faults.append(Fault(pointer: "/service", detail: "is no service"))
            case "limit":
                limit = Int(text) ?? 0
                if !(1...1000).contains(limit) {
                    faults.append(Fault(pointer: "/limit", detail: "must be from 1 to 1000"))
                }
            case "cursor":
                place = LetterCursor(text)?.place
                if place == nil { faults.append(Fault(pointer: "/cursor", detail: "must be the next of an answer")) }
            default:
                let detail = "is no parameter here; there are service, limit, cursor"
                faults.append(Fault(pointer: isIdentifier(name) ? "/\(name)" : "", detail: detail))
            }
        }
        guard faults.isEmpty else {
            throw .query(faults)
        }
    }
}

/// One consumer.
struct ConsumerDocument: Record {
    struct Place: Record {
        var attempts = 0
        var head = 0
        var lag = 0
        var offset = 0
        var owner: String?
        var partition = 0
        var waitingSince: Instant?

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("attempts", &attempts)
            fields.field("head", &head)
            fields.field("lag", &lag)
            fields.field("offset", &offset)
            fields.field("owner", &owner)
            fields.field("partition", &partition)
            fields.field("waitingSince", &waitingSince)
        }
    }

    var lag = 0
    var name = ""
    var partitions: [Place] = []
    /// When the oldest event that it has not taken in was appended, in real time.
    var waitingSince: Instant?

    init() {}

    init(_ name: String, _ places: [ConsumerPlace]) {
        self.name = name
        lag = places.reduce(0) { $0 + $1.lag }
        partitions = places.map { known in
            var place = Place()
            place.attempts = known.attempts
            place.head = known.head
            place.lag = known.lag
            place.offset = known.offset
            place.owner = known.owner?.uuidString.lowercased()
            place.partition = known.partition
            place.waitingSince = known.waitingSince.map { Instant(milliseconds: $0) }
            return place
        }
        waitingSince = partitions.compactMap(\.waitingSince).min()
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("lag", &lag)
        fields.field("name", &name)
        fields.field("partitions", &partitions)
        fields.field("waitingSince", &waitingSince)
    }
}

/// What the check of the log found.
struct LogCheck: Record {
    struct Partition: Record {
        var count = 0
        /// `first-last` of each stretch of offsets in which some are missing.
        var faults: [String] = []
        var first = 0
        var last = 0
        var partition = 0

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("count", &count)
            fields.field("faults", &faults)
            fields.field("first", &first)
            fields.field("last", &last)
            fields.field("partition", &partition)
        }
    }

    var dense = true
    /// Of each service, how many states were compared with the fold of their events.
    var folds: [FoldCheck] = []
    var partitions: [Partition] = []
    /// Dense, and no state differs.
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

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("dense", &dense)
        fields.field("folds", &folds)
        fields.field("partitions", &partitions)
        fields.field("sound", &sound)
    }
}

/// An input that was set aside.
struct LetterDocument: Record {
    var due: Instant?
    var key = ""
    /// `partition:offset`; none for a deadline.
    var position: String?
    var reason: String?
    var service = ""
    var setAsideAt = Instant.epoch

    init() {}

    init(_ letter: LetterAside) {
        due = letter.due
        key = letter.key.description
        position = letter.offset.map { "\(letter.partition):\($0)" }
        reason = letter.reason
        service = letter.consumer
        setAsideAt = letter.setAsideAt
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("due", &due)
        fields.field("key", &key)
        fields.field("position", &position)
        fields.field("reason", &reason)
        fields.field("service", &service)
        fields.field("setAsideAt", &setAsideAt)
    }
}
