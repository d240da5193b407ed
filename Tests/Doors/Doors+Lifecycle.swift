import Contracts
import HTTPKit
import LifecycleCore
import Records

@testable import LifecycleService

extension Door {
    private static let app = DoorSuite.app

    static let lifecycle: [Door] = [
        .rest(
            Registration.self,
            [
                "profile": "ios18", "model": "iPhone 16", "memoryMB": 8192, "fleet": "f", "timeZone": "Europe/Zurich",
                "gps": true, "cellular": true, "multitasking": true,
            ], \.lifecycle
        ) { .register($0) },
        .rest(
            ConditionsReport.self,
            [
                "battery": ["level": 0.5, "charging": true], "bluetooth": "on",
                "beacons": [["uuid": "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0", "major": 1, "minor": 2]], "locked": true,
                "lowPowerMode": false,
                "memoryPressure": "warning", "thermal": "fair", "tower": "228-1-7",
                "network": ["kind": "wifi", "expensive": false, "constrained": false, "shape": "lte"],
                "location": ["latitude": 47.37, "longitude": 8.54, "accuracyMeters": 10],
            ], \.lifecycle
        ) { .updateConditions($0) },
        .rest(
            DeviceSetupLine.self,
            [
                "device": "d1", "registration": ["profile": "ios18"], "conditions": ["locked": true],
                "apps": [["app": "com.example.other", "launch": true, "manifest": ["backgroundModes": ["fetch"]]]],
            ], \.lifecycle
        ) { .setUp(try $0.setup(in: "f")) },
        .rest(ConditionsLine.self, ["device": "d1", "conditions": ["locked": true]], \.lifecycle) {
            .updateConditions($0.conditions)
        },
        .rest(Power.self, ["event": "reboot"], \.lifecycle) { .power($0.event) },
        .rest(Interruption.self, ["kind": "call"], \.lifecycle) { .interrupt($0.kind) },
        .rest(
            DeviceSettings.self,
            [
                "backgroundRefresh": "on", "restrictions": ["backgroundRefresh": false],
                "summaryTimes": ["08:00", "18:00"],
            ], \.lifecycle
        ) { .changeDeviceSettings($0) },
        .rest(
            Manifest.self,
            [
                "backgroundModes": ["audio", "location", "fetch", "remote-notification", "processing"],
                "permittedTaskIdentifiers": ["task", "other"], "exitsOnSuspend": false, "memoryMB": 300,
                "handlersReturn": "reported",
            ], \.lifecycle
        ) { .install(app: app, $0) },
        .rest(
            AppSettings.self,
            [
                "backgroundRefresh": "off", "locationAccuracy": "reduced", "locationAuthorization": "always",
                "notifications": ["authorization": "authorized", "alert": "on", "sound": "off", "badge": "on"],
            ], \.lifecycle
        ) { .changeSettings(app: app, $0) },
        .rest(AuthorizationRequest.self, ["options": ["alert", "sound"], "answer": "allow"], \.lifecycle) {
            .requestAuthorization(app: app, $0)
        },
        .rest(Transition.self, ["event": "home"], \.lifecycle) { .transition(app: app, $0.event) },
        .rest(Contracts.CallbackCompletion.self, ["snapshotLabel": "inbox"], \.lifecycle) {
            .completeCallback(app: app, .didEnterBackground, $0)
        },
        .rest(BluetoothManager.self, ["restoreIdentifier": "central"], \.lifecycle) {
            .startBluetooth(app: app, .central, $0)
        },
        .rest(BluetoothReport.self, ["event": "connected"], \.lifecycle) { .bluetooth(app: app, $0.event) },
        .rest(VisitReport.self, ["kind": "arrival"], \.lifecycle) { .visit($0.kind) },
        .rest(HealthDelivery.self, ["frequency": "hourly"], \.lifecycle) {
            .enableHealthDelivery(app: app, sampleType: "heartRate", $0)
        },
        .rest(HealthSample.self, ["sampleType": "heartRate"], \.lifecycle) {
            .saveHealthSample(sampleType: $0.sampleType)
        },
        .rest(TaskRequest.self, ["name": "sync", "expirationHandler": true], \.lifecycle) {
            .beginTask(app: app, $0)
        },
        Door(
            "lifecycle.WakeCompletion",
            ["bytesReceived": 1000, "result": "newData", "snapshot": "s", "success": true]
        ) { document, suite, _ in
            let completion = try WakeCompletion(received: document)
            try suite.submit(.completeWake(app: app, wake: suite.wake ?? "w", completion), \.lifecycle)
        },
        Door("lifecycle.TaskProgress", ["completedUnitCount": 3, "totalUnitCount": 10]) { document, suite, _ in
            let progress = try TaskProgress(received: document)
            try suite.submit(.reportProgress(app: app, wake: suite.wake ?? "w", progress), \.lifecycle)
        },
        .rest(
            ActivityRequest.self,
            ["allowsBackgroundLocationUpdates": true, "pausesLocationUpdatesAutomatically": false], \.lifecycle
        ) { .startActivity(app: app, .location, $0) },
        .rest(ActionReport.self, ["kind": "fileLock", "thread": "main"], \.lifecycle) { .act(app: app, $0) },
        .rest(
            Region.self,
            ["latitude": 47.37, "longitude": 8.54, "radiusMeters": 100, "notifyOnEntry": true, "notifyOnExit": true],
            \.lifecycle
        ) { .monitorRegion(app: app, region: "r", $0) },
        .rest(
            BeaconRegion.self,
            [
                "beacon": ["uuid": "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0", "major": 1, "minor": 2],
                "notifyEntryStateOnDisplay": true, "notifyOnEntry": true, "notifyOnExit": true,
            ], \.lifecycle
        ) { .monitorBeaconRegion(app: app, region: "b", $0) },
        .rest(
            MonitorCondition.self,
            ["circle": ["latitude": 47.37, "longitude": 8.54, "radiusMeters": 100], "assuming": "unsatisfied"],
            \.lifecycle
        ) { .addMonitorCondition(app: app, monitor: "m", condition: "c", $0) },
    ]
}
