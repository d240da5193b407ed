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
            access: .scope(.read),
            parameters: [
                .text("service", "The service"),
                .text("at", "A time by RFC 3339, or a position in the log, partition:offset; now by default"),
            ],
            response: PastState.self,
            problems: [.invalidQuery, .beyondRetention, .newerProgramNeeded] + Problem.ofLog,
            unknownQuery: .refusedByHandler
        ) { request, context in
            let key = AggregateKey.device(try context.parameters.identifier("device"))
            let partition = key.partition(of: queries.partitions)
            let query = try StateQuery(request, partition)
            let found = try await asking { try await query.machine.past(key, partition, query.moment, store) }
            guard let found else {
                throw Problem.notFound.with(detail: "\(query.machine.name) did not know this device then")
            }
            return Response(found)
        }
    }
}

/// The query of `/v1/devices/{device}/state`.
private struct StateQuery {
    let machine: KnownMachine
    let moment: PastMoment

    init(_ request: Request, _ partition: Int) throws(Problem) {
        var faults: [FieldError] = []
        var machine: KnownMachine?
        var moment = PastMoment.offset(.max)
        for (key, value) in request.uri.queryParameters {
            switch key {
            case "service": machine = KnownMachine.all.first { $0.name == value }
            case "at":
                if let time = Instant(String(value)) {
                    moment = .time(time)
                } else if let position = EncodedPosition(String(value))?.position, position.count == 1,
                    let offset = position[partition]
                {
                    moment = .offset(offset)
                } else {
                    let detail =
                        "must be a time by RFC 3339, or a position in this device's partition: \(partition):offset"
                    faults.append(FieldError(pointer: "/at", detail: detail))
                }
            default:
                let pointer = isIdentifier(String(key)) ? "/\(key)" : ""
                faults.append(
                    FieldError(
                        pointer: pointer, detail: "is not a parameter of this route; the parameters are service, at"))
            }
        }
        if machine == nil {
            let names = KnownMachine.all.map(\.name).joined(separator: ", ")
            faults.append(FieldError(pointer: "/service", detail: "must be one of \(names)"))
        }
        guard let machine, faults.isEmpty else {
            throw .query(faults)
        }
        self.machine = machine
        self.moment = moment
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
    /// The last event in the state: `partition:offset`.
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
