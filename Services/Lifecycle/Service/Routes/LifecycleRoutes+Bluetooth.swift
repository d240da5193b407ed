import Contracts
import HTTPKit
import HTTPTypes
import Hummingbird
import LifecycleCore
import Machines
import Records
import ServiceKit

// Core Bluetooth: managers that wait for events, and the events.
extension LifecycleRoutes {
    func addBluetooth(_ table: inout RouteTable) {
        let app = "/v1/devices/{device}/apps/{app}"
        let manager = app + "/bluetooth-managers/{role}"
        let role = RouteParameter.word("role", BluetoothRole.self, "The role of the device")
        table.add(
            .put, manager, "Lets a Bluetooth manager of an app wait for events", body: BluetoothManager.self,
            .parameters(role), .checks { _ = try bluetoothRole($0) },
            .refuses(.ofCode(.unsupported(.bluetoothRestoration, on: .ios6)))
        ) { manager, call in
            try await self.app(after: .startBluetooth(app: call.app, bluetoothRole(call), manager), call)
        }
        table.add(
            .delete, manager, "Stops a Bluetooth manager; the app gets no more events in its role", .parameters(role),
            .refuses(.ofCode())
        ) { call in try await commands.submit(.stopBluetooth(app: call.app, bluetoothRole(call)), call) }
        table.add(
            .post, app + "/bluetooth-events", "Reports an event of another Bluetooth device, which may wake the app",
            body: BluetoothReport.self, .refuses(.ofApp(.deviceOff, .bluetoothOff, .bluetoothNotAwaited(.central)))
        ) { report, call in try await self.app(after: .bluetooth(app: call.app, report.event), call) }
    }

    private func bluetoothRole(_ call: Call) throws(Problem) -> BluetoothRole {
        let name = try call.identifier("role")
        guard let role = BluetoothRole(rawValue: name) else {
            throw .notFound.with(detail: "There is no role \"\(name)\". The roles are central and peripheral.")
        }
        return role
    }
}
