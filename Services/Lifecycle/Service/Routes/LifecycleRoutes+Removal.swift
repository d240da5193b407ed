import Contracts
import EventLog
import HTTPKit
import HTTPTypes
import Hummingbird
import LifecycleCore
import Machines
import Records
import Runtime
import ServiceKit

// The removal of a fleet.
extension LifecycleRoutes {
    func addRemoval(_ table: inout RouteTable) {
        table.add(
            .delete, "/v1/fleets/{fleet}",
            "Deregisters all devices of a fleet; 202 if devices are left after `wait` seconds",
            .status(.ok, .accepted),
            .parameters(.number("wait", 0...60, "Seconds after which the answer is 202; 30 by default")),
            .refuses([.invalidHeader, .behind, .positionBeyondLog])
        ) { call in
            let fleet = try await entered(call)
            return try await remove(fleet, within: .seconds(try call.number("wait", default: 30)), call)
        }
    }

    /// Removes devices until none is left or the time is over. A repeated request continues.
    private func remove(_ fleet: String, within time: Duration, _ call: Call) async throws -> Reply<FleetRemoval> {
        let end = ContinuousClock.now + time
        var removal = FleetRemoval(fleet: fleet)
        var pages = FleetPages(of: fleet, in: tail.partitions)
        while let devices = try await pages.next(commands.runtime.states) {
            // The first page is always removed, so that each request makes progress.
            guard removal.removed == 0 || .now < end else {
                removal.left += devices.count
                continue
            }
            for answer in await batches.answers(
                call, for: devices,
                {
                    try await commands.submit(.deregister, to: $0, in: fleet, call) { _, _ in DeviceLineDocument?.none }
                })
            { removal.note(answer) }
        }
        var reply = Reply(removal)
        if removal.left > 0 { reply.status = .accepted }
        return reply
    }
}
