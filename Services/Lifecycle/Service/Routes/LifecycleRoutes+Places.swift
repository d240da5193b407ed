import Contracts
import HTTPKit
import HTTPTypes
import Hummingbird
import LifecycleCore
import Machines
import Records
import ServiceKit

// Monitored locations: regions, monitors, significant changes and visits.
extension LifecycleRoutes {
    func addPlaces(_ table: inout RouteTable) {
        addRegions(&table)
        addMonitors(&table)
        let path = "/v1/devices/{device}/apps/{app}"
        let changes = path + "/significant-location-changes"
        table.add(
            .put, changes, "Starts to monitor significant location changes",
            .refuses(.ofCode(.unavailableOnDevice("significant changes need a cellular radio"), .locationDenied))
        ) { call in try await app(after: .monitorSignificantChanges(app: call.app), call) }
        table.add(
            .delete, changes, "Stops monitoring significant location changes", .refuses(.ofCode())
        ) { call in try await commands.submit(.stopMonitoringSignificantChanges(app: call.app), call) }
        let visits = path + "/visits"
        table.add(
            .put, visits, "Starts to monitor visits",
            .refuses(.ofCode(.unsupported(.visits, on: .ios7), .locationDenied))
        ) { call in try await app(after: .monitorVisits(app: call.app), call) }
        table.add(.delete, visits, "Stops monitoring visits", .refuses(.ofCode())) { call in
            try await commands.submit(.stopMonitoringVisits(app: call.app), call)
        }
        table.add(
            .post, "/v1/devices/{device}/visits", "Reports that the user arrived at a place or left it",
            body: VisitReport.self, .refuses(.ofDevice(.deviceOff, .unsupported(.visits, on: .ios7)))
        ) { report, call in try await device(after: .visit(report.kind), call) }
    }

    private func addRegions(_ table: inout RouteTable) {
        let path = "/v1/devices/{device}/apps/{app}"
        let region = path + "/regions/{region}"
        table.add(
            .put, region, "Starts to monitor a region; replaces a region with the same identifier", body: Region.self,
            .refuses(
                .ofCode(
                    .unavailableOnDevice("regions need GPS"), .locationDenied,
                    .regionMonitoringFailure("the app monitors 20 regions already")))
        ) { region, call in
            try await app(
                after: .monitorRegion(app: call.app, region: call.identifier("region"), region), call)
        }
        table.add(.delete, region, "Stops monitoring a region", .refuses(.ofCode())) { call in
            let region = try call.identifier("region")
            return try await commands.submit(.stopMonitoringRegion(app: call.app, region: region), call)
        }
        let beacons = path + "/beacon-regions/{region}"
        table.add(
            .put, beacons, "Starts to monitor a beacon region; replaces a region with the same identifier",
            body: BeaconRegion.self,
            .refuses(
                .ofCode(
                    .unsupported(.beaconRegions, on: .ios6), .beaconMajorMissing, .locationDenied,
                    .regionMonitoringFailure("the app monitors 20 regions already")))
        ) { region, call in
            try await app(
                after: .monitorBeaconRegion(app: call.app, region: call.identifier("region"), region), call)
        }
        table.add(.delete, beacons, "Stops monitoring a beacon region", .refuses(.ofCode())) { call in
            let region = try call.identifier("region")
            return try await commands.submit(.stopMonitoringRegion(app: call.app, region: region), call)
        }
    }

    private func addMonitors(_ table: inout RouteTable) {
        let monitor = "/v1/devices/{device}/apps/{app}/monitors/{monitor}"
        table.add(
            .put, monitor, "Creates a monitor of conditions, or opens the stored one; its waiting events follow",
            .refuses(.ofCode(.unsupported(.locationMonitors, on: .ios16), .tooManyMonitors))
        ) { call in try await app(after: .openMonitor(app: call.app, monitor: call.identifier("monitor")), call) }
        let condition = monitor + "/conditions/{condition}"
        table.add(
            .put, condition, "Adds a condition to an open monitor; replaces a condition with the same identifier",
            body: MonitorCondition.self,
            .refuses(
                .ofCode(
                    .unsupported(.locationMonitors, on: .ios16), .monitorNotOpen("home"), .conditionUnclear,
                    .beaconMajorMissing, .unavailableOnDevice("circular conditions need GPS"), .locationDenied,
                    .tooManyConditions))
        ) { condition, call in
            try await app(
                after: .addMonitorCondition(
                    app: call.app, monitor: call.identifier("monitor"), condition: call.identifier("condition"),
                    condition), call)
        }
        table.add(
            .delete, condition, "Removes a condition from an open monitor", .refuses(.ofCode(.monitorNotOpen("home")))
        ) { call in
            try await commands.submit(
                .removeMonitorCondition(
                    app: call.app, monitor: call.identifier("monitor"), condition: call.identifier("condition")), call)
        }
    }
}
