import Contracts
import EventLog
import FetchCore
import HTTPKit
import RandomScenarios
import Records
import Timeline

@testable import FetchService
@testable import OpsService

extension Door {
    static let fetch: [Door] = [
        .rest(IntervalRequest.self, ["interval": 1200], \.fetch) {
            .setInterval(app: DoorSuite.app, $0.interval)
        },
        .rest(
            BackgroundTaskRequest.self,
            [
                "identifier": "task", "kind": "processing", "earliestBeginDate": "2025-06-16T10:00:00.000Z",
                "requiresNetworkConnectivity": true, "requiresExternalPower": false, "expirationHandler": true,
            ], \.fetch
        ) { .submitTask(app: DoorSuite.app, $0) },
        Door(
            "fetch.BackgroundTaskRequest.continuedProcessing",
            [
                "identifier": "app.export.1", "kind": "continuedProcessing", "requiredResources": ["gpu"],
                "strategy": "fail", "subtitle": "Film", "title": "Export",
            ]
        ) { document, suite, _ in
            let request = try BackgroundTaskRequest(received: document)
            try suite.submit(.submitTask(app: DoorSuite.app, request), \.fetch)
        },
    ]

    static let ops: [Door] = [
        .rest("ops", ClockSettings.self, ["rate": 60, "frozen": false]) { settings in
            let clock = ClockSetting(
                isVirtual: true, realEpoch: .monday, virtualEpoch: .monday, rate: settings.rate ?? 0)
            _ = clock.instant(atReal: .monday + .days(36_500))
            _ = clock.real(at: Instant.documented.upperBound)
        },
        .rest("ops", Advance.self, ["seconds": 3600, "timeout": 30]) { advance in
            _ = Instant.monday + .seconds(advance.seconds)
            _ = Duration.milliseconds(Int64(advance.timeout * 1000))
        },
    ]
}
