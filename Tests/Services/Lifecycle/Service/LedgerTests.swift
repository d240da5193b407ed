import Contracts
import LifecycleCore
import Machines
import OrderedCollections
import Records
import Testing
import Timeline

@testable import LifecycleService

@Suite struct LedgerTests {
    private static let key = AggregateKey.device("d")
    private var runtime = InMemoryRuntime<LifecycleMachine>(policy: LifecyclePolicy())
    private var app: InstalledApp? { runtime.state(Self.key).apps["a"] }

    private var launch: LaunchCost? {
        runtime.state(Self.key).explain("a", at: .epoch, LifecyclePolicy())?.launch
    }

    private func at(_ seconds: Double) -> Instant { .epoch + .seconds(seconds) }

    private mutating func submit(_ command: LifecycleCommand, _ seconds: Double) throws {
        try runtime.submit(command, to: Self.key, at: at(seconds))
    }

    init() throws {
        try submit(.register(Registration(profile: .ios15)), 0)
        try submit(.install(app: "a", Manifest()), 0)
        var settings = AppSettings()
        settings.locationAuthorization = .always
        try submit(.changeSettings(app: "a", settings), 0)
        try submit(.transition(app: "a", .launch), 0)
    }

    @Test mutating func `energy is metered while monitoring and updates are on`() throws {
        let region = Region(latitude: 48, longitude: 2, radiusMeters: 500)
        try submit(.monitorRegion(app: "a", region: "home", region), 10)
        try submit(.startActivity(app: "a", .location, ActivityRequest()), 20)
        try submit(.stopActivity(app: "a", .location), 30)
        try submit(.power(.off), 70)
        let ledger = try #require(app?.energy.metered(at: at(1000)))
        // 20 mW for 60 s, 150 mW for 10 s, nothing while the device is off.
        #expect(ledger.monitoring == 1200 && ledger.updates == 1500)
    }

    @Test mutating func `a wake uses energy and its bytes are counted`() throws {
        try submit(.monitorSignificantChanges(app: "a"), 1)
        try submit(.transition(app: "a", .home), 2)
        var report = ConditionsReport()
        report.tower = "208-1-77"
        try submit(.updateConditions(report), 3)
        report.tower = "208-1-78"
        try submit(.updateConditions(report), 4)
        #expect(app?.energy.wakes == 100, "the energy of a wake and of its significant change")
        var completion = WakeCompletion(snapshot: "map")
        completion.bytesReceived = 4096
        try submit(.completeWake(app: "a", wake: try #require(app?.wakes.keys.first), completion), 5)
        #expect(app?.energy.bytesReceived == 4096)
        #expect(app?.snapshotTakenAt == at(5) && app?.snapshotLabel == "map")
    }

    @Test mutating func `a process that is kept alive makes the next launch quick and cheap`() throws {
        #expect(app?.energy.launches == 500, "a cold launch")
        #expect(launch?.start == .running && launch?.time == .zero)
        try submit(.transition(app: "a", .home), 1)
        #expect(launch?.start == .suspended)
        let suspended = try #require(launch)
        try submit(.transition(app: "a", .open), 2)
        #expect(app?.energy.launches == 500 + suspended.energy)
        try submit(.transition(app: "a", .switcher), 3)
        try submit(.transition(app: "a", .dismiss), 4)
        #expect(app?.energy.launches == 500 + suspended.energy, "the app was on screen")
        try submit(.transition(app: "a", .crash), 5)
        let cold = try #require(launch)
        try submit(.transition(app: "a", .prewarm), 6)
        let prewarmed = try #require(launch)
        #expect((cold.start, prewarmed.start) == (.cold, .prewarmed))
        #expect(suspended.time < prewarmed.time && prewarmed.time < cold.time)
        #expect(suspended.energy < prewarmed.energy && prewarmed.energy < cold.energy)
        try submit(.transition(app: "a", .launch), 7)
        #expect(app?.energy.launches == 500 + suspended.energy + prewarmed.energy)
    }

    @Test mutating func `a crossing of a region uses data`() throws {
        var report = ConditionsReport()
        report.location = Location(latitude: 48, longitude: 2)
        try submit(.updateConditions(report), 10)
        try submit(.monitorRegion(app: "a", region: "home", Region(latitude: 48, longitude: 2, radiusMeters: 500)), 11)
        report.location = Location(latitude: 49, longitude: 2)
        try submit(.updateConditions(report), 12)
        #expect(app?.energy.monitoringBytes == 0)
        try runtime.advance(to: at(60))
        #expect(app?.energy.monitoringBytes == 4096)
    }

    @Test mutating func `repeatedly reported bytes do not overflow`() throws {
        var state = runtime.state(Self.key)
        var completed = LifecycleEvent.WakeCompleted(app: "a", reason: .fetch, wake: "w")
        for bytes in [Int.max, .max, .min, 7] {
            completed.bytesReceived = bytes
            state.apply(.wakeCompleted(completed), at: at(5))
        }
        #expect(state.apps["a"]?.energy.bytesReceived == 1 << 60)
    }

    @Test mutating func `a snapshot is taken when the app leaves the screen`() throws {
        try submit(.transition(app: "a", .home), 7)
        #expect(app?.snapshotTakenAt == at(7) && app?.snapshotLabel == nil)
    }

    @Test func `every termination reason is counted once in the form of MetricKit`() {
        var counts = ExitCounts()
        for (index, reason) in EndReason.allCases.enumerated() {
            counts.foreground[reason.rawValue] = 1
            counts.background[reason.rawValue] = index + 1
        }
        let data = ExitData(counts)
        let (front, back) = (data.foregroundExitData, data.backgroundExitData)
        #expect(
            front.cumulativeNormalAppExitCount + front.cumulativeMemoryResourceLimitExitCount
                + front.cumulativeAppWatchdogExitCount + front.cumulativeAbnormalExitCount == EndReason.allCases.count)
        let behind = [
            back.cumulativeNormalAppExitCount, back.cumulativeMemoryPressureExitCount,
            back.cumulativeAppWatchdogExitCount, back.cumulativeSuspendedWithLockedFileExitCount,
            back.cumulativeBackgroundTaskAssertionTimeoutExitCount, back.cumulativeAbnormalExitCount,
        ]
        #expect(behind.reduce(0, +) == counts.background.values.reduce(0, +))
        #expect(back.cumulativeSuspendedWithLockedFileExitCount == counts.background["fileLockHeld"])
        #expect(back.cumulativeBackgroundTaskAssertionTimeoutExitCount == counts.background["backgroundTaskTimeout"])
        #expect(back.cumulativeMemoryPressureExitCount == counts.background["memoryPressure"])
    }

    @Test func `the expiration of a task request is an order`() {
        let event = LifecycleEvent.wakeExpiring(.init(app: "a", deadline: at(9), request: "r", wake: "w"))
        #expect(event.orderContent?.type == .taskExpiration && event.orderContent?.deadline == at(9))
    }
}
