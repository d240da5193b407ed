import Contracts
import EventLog
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import LifecycleMachine
import Machines
import OrderedCollections
import Records
import Runtime
import ServiceKit
import Timeline

// Reports: terminations, explanations, profiles.
extension LifecycleRoutes {
    func addReports(_ table: inout RouteTable) {
        let app = "/v1/devices/{device}/apps/{app}"
        table.add(
            .get, app + "/terminations",
            "Lists the terminations of an app, the latest first, with counts by reason", access: .caller,
            parameters: .pages,
            response: Terminations.self, problems: .ofApp() + [.invalidQuery], example: Example.terminations
        ) { request, context in
            let limit = try request.query("limit", in: 1...200, default: 50)
            let cursor = try request.query("cursor", in: 1...Int.max, default: .max)
            let key = AggregateKey.device(try context.parameters.identifier("device"))
            let app = try context.parameters.identifier("app")
            let (record, etag) = try await installed(request, context)
            let page = try await terminations.page(key, app: app, before: cursor, limit: limit)
            return Response(Terminations(record, page, limit: limit), etag: etag)
        }
        table.add(
            .get, app + "/explain",
            "Explains the state of an app, its next change, and the result of each kind of wake with all factors",
            access: .caller, response: Explanation.self, problems: .ofApp(), example: Example.explanation
        ) { request, context in
            let app = try context.parameters.identifier("app")
            let found = try await registered(request, context)
            guard let explanation = found.state.explain(app, at: clock.now, policy) else {
                throw LifecycleRefusal.appNotInstalled(app).problem
            }
            // No ETag: some factors change with time alone.
            return Response(explanation)
        }
        table.add(
            .get, "/v1/fleets/{fleet}/terminations",
            "Counts the terminations of all apps of a fleet's devices by reason",
            access: .caller, response: FleetTerminations.self, example: Example.fleetTerminations
        ) { request, context in
            let fleet = try context.parameters.identifier("fleet")
            try context.requireCaller(.read).requireFleet(fleet)
            return Response(try await terminations(of: fleet))
        }
        table.add(
            .get, "/v1/profiles", "Returns the limits of this deployment, by generation of iOS", access: .caller,
            response: LifecyclePolicy.self, example: Example.profiles
        ) { _, _ in Response(policy) }
    }

    private func terminations(of fleet: String) async throws -> FleetTerminations {
        var counts = ExitCounts()
        var devices = 0
        for partition in 0..<tail.partitions {
            var last: AggregateKey?
            repeat {
                let page = try await commands.runtime.states.page(of: partition, mentioning: fleet, after: last)
                for (_, state) in page.states where state.registration?.fleet == fleet {
                    devices += 1
                    for app in state.apps.values { counts.add(app.exits) }
                }
                last = page.last
            } while last != nil
        }
        return FleetTerminations(fleet, devices: devices, counts)
    }
}
