import EventLog
import Foundation
import HTTPKit
import Hummingbird
import Logging
import MachineTesting
import Machines
import Records
import Runtime
import ServiceKit

// The counter as a service with the commands and settings of every service. COUNTER_RELEASE chooses its release:
// 1 (default), 2 or 3.

switch ProcessInfo.processInfo.environment["COUNTER_RELEASE"] {
case "2": await ServiceMain.run(CounterProgram<NextCounter>.self)
case "3": await ServiceMain.run(CounterProgram<ThirdCounter>.self)
default: await ServiceMain.run(CounterProgram<Counter>.self)
}

/// A release of the counter.
protocol CounterRelease: Machine where Command == Counter.Command, Policy == Void {
    var total: Int { get }
}

extension Counter: CounterRelease {}
extension NextCounter: CounterRelease { var total: Int { counter.total } }
extension ThirdCounter: CounterRelease { var total: Int { next.total } }

/// A release of the counter as a service.
struct CounterProgram<Rules: CounterRelease>: DurableService {
    static var port: Int { 8099 }

    init(_ reader: SettingsReader) {}

    func serve(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        // An update that waits a minute for an older replica would make the tests slow.
        let limits = StallLimits(update: .seconds(1))
        try await serve(configuration, policy: (), tokenIssuer: Self.name, limits: limits, logger: logger) {
            parts, table in
            table.add(.post, "/v1/devices/{device}/additions", "Adds 1") { call in
                try await parts.commands.submit(.add(1), call) { aggregate, _ in Self.document(aggregate) }
            }
            table.add(.get, "/v1/devices/{device}", "Reads the total") { call in
                guard let found = try await parts.commands.read(call)?.aggregate else { throw Problem.notFound }
                return Reply(Self.document(found), etag: call.etag(of: found))
            }
            return []
        }
    }

    private static func document(_ aggregate: Aggregate<Rules>) -> JSON { ["total": .int(aggregate.state.total)] }
}
