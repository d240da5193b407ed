import Contracts
import EventLog
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import LifecycleCore
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
            .get, app + "/terminations", "Lists the terminations of an app, the latest first, with counts by reason",
            .parameters(.pages), .refuses(.ofApp() + [.invalidQuery]), .example(Example.terminations)
        ) { call in
            let (limit, cursor) = try call.page()
            let (record, etag) = try await installed(call)
            let page = try await terminations.page(call.device, app: call.app, before: cursor, limit: limit)
            return Reply(Terminations(record, page, limit: limit, call.context.incarnation), etag: etag)
        }
        table.add(
            .get, app + "/explain",
            "Explains the state of an app, its next change, and the result of each kind of wake with all factors",
            .refuses(.ofApp()), .example(Example.explanation)
        ) { call in
            let app = try call.app
            let found = try await registered(call)
            guard let explanation = found.state.explain(app, at: clock.now, policy) else {
                throw LifecycleRefusal.appNotInstalled(app).problem
            }
            // No ETag: some factors change with time alone.
            return Reply(explanation)
        }
        table.add(
            .get, "/v1/fleets/{fleet}/terminations",
            "Counts the terminations of all apps of a fleet's devices by reason", .example(Example.fleetTerminations)
        ) { call in
            let fleet = try call.identifier("fleet")
            try call.context.requireCaller(.read).requireFleet(fleet)
            return Reply(try await terminations(of: fleet))
        }
        table.add(
            .get, "/v1/profiles",
            "Returns the features and limits of this deployment by generation of iOS, and its readings of disputed rules",
            .example(Example.profiles)
        ) { _ in Reply(ProfilesDocument(policy.generations)) }
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
