import Contracts
import EventLog
import HTTPKit
import Hummingbird
import Identity
import Machines
import Postgres
import Records
import Runtime
import Timeline

/// The state of a device in a service, now or at a time or position in the log.
struct StateRoutes: Sendable {
    let queries: LogQueries
    let store: OpsStore

    func add(to table: inout RouteTable) {
        table.add(
            .get, "/v1/devices/{device}/state",
            "Returns the state of a device in a service, now or at an earlier time or position",
            .scope(.read),
            .parameters(
                .text("service", "The service"),
                .text("at", "A time by RFC 3339, or a position in the log, partition:offset; now by default")),
            .refuses([.invalidQuery, .beyondRetention, .earlierIncarnation, .newerProgramNeeded] + Problem.ofLog),
            .unknownQuery(.refusedByHandler)
        ) { try await state($0) }
    }

    private func state(_ call: Call) async throws -> Reply<PastState> {
        let key = try call.device
        let partition = key.partition(of: queries.partitions)
        var query = QueryReader(call)
        let place = call.context.incarnation.marked("\(partition):offset")
        let fault = "must be a time by RFC 3339, or a position in this device's partition: \(place)"
        if let text = query.text("at"), Instant(text) == nil { _ = try call.context.incarnation.position(text) }
        let moment: PastMoment? = query.value("at", fault) { text in
            if let time = Instant(text) { return .time(time) }
            let position = EncodedPosition(LogIncarnation.plain(text))?.position
            return position?.count == 1 ? position?[partition].map { .offset($0) } : nil
        }
        let name = query.text("service")
        guard let machine = KnownMachine.all.first(where: { $0.name == name }) else {
            query.refuse("service", "must be one of \(KnownMachine.all.map(\.name).joined(separator: ", "))")
            throw query.problem
        }
        try query.finish()
        let found = try await asking { try await machine.past(key, partition, moment ?? .offset(.max), store) }
        guard var found else {
            throw Problem.notFound.with(detail: "\(machine.name) did not know this device at that time")
        }
        found.position = call.context.incarnation.marked(found.position)
        return Reply(found)
    }
}

/// A state whose JSON is invalid.
struct StateUnwritable: Error {
    let key: AggregateKey
    let fault: JSONSyntaxError
}

/// The state of a device in a service.
struct PastState: Record {
    var events = 0
    var nextDeadline: Nullable<Instant> = nil
    /// The last event in the state: `partition:offset`, with the incarnation of a restored log before it.
    var position = ""
    var service = ""
    var state = JSON.object([])
    /// The time of the last event in the state.
    var time = Instant.epoch

    init<M: Machine>(
        _ aggregate: Aggregate<M>, _ partition: Int, _ offset: Int
    ) throws(StateUnwritable) {
        events = aggregate.eventCount
        nextDeadline = aggregate.nextDeadline
        position = "\(partition):\(offset)"
        service = M.name
        do { state = try JSON(parsing: aggregate.state.jsonBytes) } catch {
            throw StateUnwritable(key: aggregate.key, fault: error)
        }
        time = aggregate.now
    }
}
