import Foundation
import Glibc
import NIOHTTP1
import Records
import TestSupport
import Testing

/// The alerts of Prometheus on metrics of a suite: while it is well, and with faults.
@Suite("Alerts", .tags(.database, .processes), .timeLimit(.minutes(5))) struct AlertTests {
    /// The alerts that no fault here raises. They need another clock, a slow machine, an old server, or a day before.
    private static let others: Set = [
        "ClockSkew", "DeliveryBudgetBurns", "PostgresConnectionsAlmostUsed", "PostgresNeedsVacuum", "ReplicaMissing",
        "StatisticsBehind",
    ]
    /// The alerts that a loaded machine may raise.
    private static let late = ["LatencyBudgetBurns", "DeliveryBudgetBurns"]

    @Test func `every alert has a fault that raises it`() throws {
        let file = AlertScrapes.prometheus.appendingPathComponent("rules.yml")
        let rules = try String(contentsOf: file, encoding: .utf8)
        let known = Set(rules.matches(of: #/alert: (\w+)/#).map { String($0.1) })
        let raised = AlertFaults.all.map { String($0.prefix { $0 != "{" }) }
        #expect(Self.others.union(raised) == known)
    }

    @Test func `each fault raises its alerts, and a suite without faults raises none`() async throws {
        let certificate = try await PEMCertificate.make(days: 400)
        let suite = try await RunningSuite.start(settings: [
            "APNS_TLS_CERTIFICATE": certificate.chainFile, "APNS_TLS_KEY": certificate.keyFile,
            "DEVICE_UPLOAD_QUOTA": "100",
        ])
        _ = try await Witness.all(suite)
        let scrapes = try AlertScrapes(suite)
        let faults = AlertFaults(suite: suite, scrapes: scrapes)
        try await health(faults, suite, scrapes, certificate)
        try await scrapes.expect(
            "busy", AlertFaults.ofBusyPool, fault: (right: "wait_seconds_sum", wrong: "wait_seconds_total"),
            after: faults.occupyPool)
        try await outage(suite, scrapes)
        try await together(faults, suite, scrapes, certificate)
        try await deaths(faults, suite, scrapes)
        try await scrapes.expect(
            "silence", of: [:], AlertFaults.ofSilence, fault: (right: #"up{job="push"}"#, wrong: #"up{job="mail"}"#))

        // The alerts and dashboards select only what the services have.
        let missing = try await scrapes.missingLabels()
        #expect(missing == [])
        let wrong = try await scrapes.missingLabels(fault: (right: #"check="database""#, wrong: #"check="postgres""#))
        #expect(wrong == ["dormouse_check_failing: no series has check=postgres"])
        _ = try await suite.stop()
        try await suite.cluster.destroy()
    }

    /// Every service answers requests, a device gets a notification, and a client has a wrong key.
    private func health(
        _ faults: AlertFaults, _ suite: RunningSuite, _ scrapes: AlertScrapes, _ certificate: PEMCertificate
    ) async throws {
        for service in SuiteService.writers {
            try await scrapes.wait(for: "dormouse_devices_parked 0", at: suite.address(service))
        }
        let fault = (right: "(dormouse_devices_parked) > 0", wrong: "(dormouse_devices_parked) == 0")
        try await scrapes.expect("health", [], ignoring: Self.late, fault: fault) {
            for service in SuiteService.allCases { try await suite.call(.GET, service, Witness.readPath(service)) }
            for _ in 1...5 { _ = try await suite.send(.GET, .fetch, Witness.readPath(.fetch), as: "wrong") }
            try await suite.call(.PUT, .lifecycle, "/v1/devices/\(AlertFaults.quiet)", ["profile": "ios15"])
            try await faults.notify(trusting: certificate)
        }
    }

    /// After the outage, no alert fires.
    private func outage(_ suite: RunningSuite, _ scrapes: AlertScrapes) async throws {
        try await suite.cluster.stop(.fast)
        for service in SuiteService.allCases {
            try await scrapes.wait(
                for: #"dormouse_check_failing{check="database"} 1"#, #"dormouse_check_failing{check="listener"} 1"#,
                at: suite.address(service))
        }
        // The leases fail a few seconds later.
        let ignored = Self.late + [#"CheckFailing{check="leases"}"#]
        let fault = (right: #"check="database"}) > 0"#, wrong: #"check="postgres"}) > 0"#)
        try await scrapes.expect("outage", AlertFaults.ofOutage, ignoring: ignored, fault: fault) {
            for service in SuiteService.allCases {
                let answer = try await suite.send(.GET, service, Witness.readPath(service))
                #expect(answer.status == 503, "\(service)")
                // Probes must not hide it.
                for _ in 1...30 { _ = try await suite.send(.GET, service, "/readyz") }
            }
        }
        try await suite.cluster.start()
        for service in SuiteService.allCases { try await suite.waitUntil(service, isWell: true) }
        let change = (right: "(dormouse_partitions_stuck) > 0", wrong: "(dormouse_partitions_stuck) == 0")
        try await scrapes.expect("recovery", [], ignoring: Self.late, fault: change) {
            for service in SuiteService.allCases { try await suite.call(.GET, service, Witness.readPath(service)) }
        }
    }

    /// Many faults of different kinds at a time. Each has its own alert.
    private func together(
        _ faults: AlertFaults, _ suite: RunningSuite, _ scrapes: AlertScrapes, _ certificate: PEMCertificate
    ) async throws {
        try await suite.waitUntilAllIsTakenIn()
        async let held: Void = faults.holdPartition()
        try await faults.waitUntilHeld()
        async let change: Void = faults.changeConditions()
        try await faults.makeOldDay()
        try await faults.delayErasure()
        try await faults.parkAndHalt()
        try await faults.shorten(certificate)
        let replica = try await faults.fillDisk()
        try await faults.waitUntilVisible(replica.address)
        // The command that waits for the partition gets 503 now and then.
        let ignored =
            Self.late + [
                #"RequestsFail{job="lifecycle"}"#, #"AvailabilityBudgetBurns{job="lifecycle"}"#,
            ]
        let targets = scrapes.targets.merging(["transfer.2": replica.address]) { $1 }
        let fault = (right: "4 * dormouse_storage_reserve_bytes", wrong: "0 * dormouse_storage_reserve_bytes")
        try await scrapes.expect("together", of: targets, AlertFaults.together, ignoring: ignored, fault: fault) {
            try await faults.refuseCredentials()
            try await faults.exceedQuota()
            try await faults.waitForFailedCommits()
        }
        try await faults.release()
        await held
        try await change
        try await scrapes.wait(
            for: "dormouse_partitions_stuck 0", #"dormouse_check_failing{check="waiting_partitions"} 0"#,
            at: suite.address(.lifecycle))
        replica.process.signal(SIGKILL)
        _ = try await replica.process.exit()
    }

    /// A process that Prometheus knows, and one that has left DNS.
    private func deaths(_ faults: AlertFaults, _ suite: RunningSuite, _ scrapes: AlertScrapes) async throws {
        try await suite.kill(.fetch)
        try await suite.kill(.transfer)
        try await faults.appendUnreadEvents()
        var targets = scrapes.targets
        targets["transfer"] = nil
        let fault = (right: "} == 0", wrong: "} == 1")
        try await scrapes.expect("deaths", of: targets, AlertFaults.ofDeaths, ignoring: Self.late, fault: fault)
    }
}
