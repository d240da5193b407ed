import Contracts
import HTTPKit
import Hummingbird
import Identity
import Postgres
import Records
import Timeline

/// The progress of erasures. `lifecycle` takes the requests.
struct ErasureRoutes: Sendable {
    let store: OpsStore
    let partitions: Int

    func add(to table: inout RouteTable) {
        table.add(
            .get, "/v1/devices/{device}/erasure", "Returns the progress of the last erasure of a device", .scope(.read),
            .refuses([.notFound] + Problem.ofLog)
        ) { call in
            let device = AggregateKey("device:" + (try call.identifier("device")))
            guard let found = try await asking({ try await store.erasure(of: device, partitions: partitions) }) else {
                throw Problem.notFound.with(
                    detail: "No erasure of the device was requested: POST /v1/devices/{device}/erasure at lifecycle.")
            }
            return Reply(found)
        }
    }
}

/// The erasure of the history of a device. Times are real.
struct Erasure: Record {
    /// The number of events that lost their content.
    var events = 0
    /// The end of the erasure; nil until then.
    var erasedAt: Instant?
    /// The time of the request.
    var requestedAt = Instant.epoch
    /// The part that the erasure waits for, for example `consumer push`; nil if it waits for nothing.
    var waitsFor: String?
}
