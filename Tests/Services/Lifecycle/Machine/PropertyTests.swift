import Contracts
import LifecycleCore
import RandomScenarios
import Machines
import OrderedCollections
import Records
import MachineTesting
import Testing
import Timeline

/// Random scenarios of a device. A failure names its seed.
@Suite(.ownThread) struct LifecycleProperties {
    @Test(arguments: (1...40).map { UInt64($0) * 7919 })
    func `random scenarios keep the invariants`(seed: UInt64) throws {
        print("lifecycle property seed \(seed)")
        var life = LifecycleLife(seed: seed)
        for _ in 0..<250 {
            try life.step()
            try life.checkLaws()
        }
        #expect(try life.runtime.foldCheck().isEmpty, "seed \(seed)")
        try checkHistory(of: life)
    }

    /// Compares the explanation of each kind of wake with its result at that time.
    @Test(arguments: (1...20).map { UInt64($0) * 104_729 })
    func `an explanation predicts the result of each kind of wake`(seed: UInt64) throws {
        var life = LifecycleLife(seed: seed)
        // In some lives the first installation comes late. Only installed apps have predictions.
        while life.device.apps.count < LifecycleLife.apps.count { try life.step() }
        var told = 0
        for _ in 0..<300 {
            try life.step()
            for app in LifecycleLife.apps {
                for kind in WakeKind.allCases { told += try life.holdToItsWord(kind, app) ? 1 : 0 }
            }
        }
        #expect(told > 5000, "seed \(seed): too few predictions")
    }

    /// Checks the invariants in the log of a scenario.
    private func checkHistory(of life: LifecycleLife) throws {
        let seed = Comment(rawValue: "seed \(life.seed)")
        var open: [String: Set<String>] = [:]
        var isQuit: Set<String> = []
        for event in life.runtime.log where event.source == LifecycleEvent.source {
            switch try LifecycleEvent(type: event.type, version: event.version, data: event.data) {
            case .taskBegun(let data): open[data.app ?? "", default: []].insert(data.task)
            case .taskEnded(let data): open[data.app ?? ""]?.remove(data.task)
            case .appSuspended(let data):
                #expect(open[data.app ?? ""]?.isEmpty ?? true, "\(seed): every begin is ended before suspension")
            case .appTerminating(let data): open[data.app ?? ""] = nil
            case .appTerminated(let data):
                open[data.app ?? ""] = nil
                if data.reason == .forceQuit { isQuit.insert(data.app ?? "") }
            case .appUninstalled(let data): isQuit.remove(data.app ?? "")
            case .appLaunched(let data): isQuit.remove(data.app ?? "")
            // The user may open an app that was woken despite a force quit.
            case .appActivated(let data): isQuit.remove(data.app ?? "")
            case .devicePowered(let data): if data.power != .off { isQuit = [] }
            case .deviceDeregistered: (open, isQuit) = ([:], [])
            case .appWoken(let data):
                let outlives: Set<WakeKind?> = [
                    .region, .monitor, .significantChange, .visit, .processingTask, .voipPush,
                ]
                let isForUser = data.reason == .notificationResponse
                #expect(!isQuit.contains(data.app ?? "") || isForUser || outlives.contains(data.kind), seed)
            default: break
            }
        }
    }
}

extension LifecycleLife {
    /// Causes a wake in a copy of the scenario, and compares it with the explanation.
    ///
    /// - Returns: false if no input can cause this wake now. A death or a boot, which reopens VoIP sockets, changes the
    ///   state itself; golden traces cover it.
    fileprivate func holdToItsWord(_ kind: WakeKind, _ app: String) throws -> Bool {
        var copy = runtime
        guard let record = device.apps[app] else { return false }
        let outlook = try #require(
            device.explain(app, at: now, LifecyclePolicy())?.wakes.first { $0.kind == kind })
        let events: [Event]
        switch kind {
        case .fetch: events = try copy.deliver(event(FetchEvent.RefreshDue(app: app, fetch: "x")))
        case .push, .newsstand:
            let profile = LifecyclePolicy()[device.registration?.profile ?? .ios18]
            guard device.silentPushKind(of: record, profile) == kind else { return false }
            events = try copy.deliver(event(PushEvent.WakeRequested(app: app, notification: "x", payload: [:])))
        case .pushToTalk:
            events = try copy.deliver(
                event(PushEvent.WakeRequested(app: app, notification: "x", payload: [:], pushType: .pushtotalk)))
        case .voipPush:
            events = try copy.deliver(
                event(PushEvent.WakeRequested(app: app, notification: "x", payload: [:], pushType: .voip)))
        case .transfer: events = try copy.deliver(event(TransferEvent.WakeRequested(app: app, session: "x")))
        case .refreshTask:
            events = try copy.deliver(
                event(FetchEvent.TaskDue(app: app, identifier: "t", kind: .refresh, request: "x")))
        case .processingTask:
            events = try copy.deliver(
                event(FetchEvent.TaskDue(app: app, identifier: "t", kind: .processing, request: "x")))
        case .continuedProcessingTask:
            events = try copy.deliver(
                event(FetchEvent.TaskDue(app: app, identifier: "t", kind: .continuedProcessing, request: "x")))
        case .significantChange:
            guard device.isPoweredOn, record.significantChanges?.tower != nil else { return false }
            var conditions = ConditionsReport()
            conditions.tower = "elsewhere"
            events = try copy.submit(.updateConditions(conditions), to: Self.key, at: now)
            guard events.contains(where: { $0.type == LifecycleEvent.SignificantChangeReported.type && $0.app == app })
            else { return false }
            // An app on screen gets the callback without a wake.
            if record.isInUse { return true }
        case .bluetoothCentral, .bluetoothPeripheral:
            let event: BluetoothEvent = kind == .bluetoothCentral ? .connected : .subscribed
            guard device.isPoweredOn, device.conditions.bluetooth == .on, record.bluetooth[event.role.rawValue] != nil,
                !record.state.isForeground
            else { return false }
            events = try copy.submit(.bluetooth(app: app, event), to: Self.key, at: now)
        case .visit:
            guard device.isPoweredOn, record.monitorsVisits, !record.isInUse, record.locationAccuracy.isFull,
                LifecyclePolicy()[device.registration?.profile ?? .ios18].has(.visits)
            else { return false }
            events = try copy.submit(.visit(.departure), to: Self.key, at: now)
        case .monitor:
            guard device.isPoweredOn, device.conditions.bluetooth == .on, !record.isInUse,
                !record.wakes.values.contains(where: { $0.kind == .monitor }), record.locationAccuracy.isFull,
                let condition = record.monitors.values.flatMap({ $0.conditions.values }).first(where: {
                    $0.condition.beacon != nil && $0.state == .unsatisfied && !$0.isPending && $0.next == nil
                }),
                let beacon = condition.condition.beacon,
                LifecyclePolicy()[device.registration?.profile ?? .ios18].has(.locationMonitors)
            else { return false }
            var conditions = ConditionsReport()
            conditions.beacons = [Beacon(major: beacon.major ?? 1, minor: beacon.minor ?? 1, uuid: beacon.uuid)]
            events = try copy.submit(.updateConditions(conditions), to: Self.key, at: now)
        case .health:
            guard device.isPoweredOn, !record.state.isForeground,
                let type = record.health.elements.first(where: {
                    type, delivery in
                    delivery.frequency == .immediate && delivery.misses == 0
                        && !record.wakes.values.contains { $0.kind == .health && $0.request == type }
                }),
                LifecyclePolicy()[device.registration?.profile ?? .ios18].has(.healthDelivery)
            else { return false }
            events = try copy.submit(.saveHealthSample(sampleType: type.key), to: Self.key, at: now)
        case .notificationResponse:
            guard !record.state.isForeground else { return false }
            events = try copy.deliver(
                event(PushEvent.NotificationResponded(actionIdentifier: "like", app: app, notification: "x")))
        case .region, .voipSocket: return false
        }
        let fate = events.compactMap { event -> (Bool, WakeRefusal?)? in
            guard event.app == app else { return nil }
            switch try? LifecycleEvent(type: event.type, version: event.version, data: event.data) {
            case .appWoken(let data) where (data.kind ?? kind) == kind: return (true, nil)
            case .wakeRefused(let data) where (data.kind ?? kind) == kind: return (false, data.refusal)
            // An open wake of the kind takes the event.
            case .bluetoothEventOccurred(let data) where !data.callbacks.isEmpty: return (true, nil)
            case .visitReported(let data) where !data.callbacks.isEmpty: return (true, nil)
            default: return nil
            }
        }.first
        let happened = try #require(fate, "seed \(seed): \(kind) of \(app)")
        #expect(happened.0 == outlook.wouldWake && happened.1 == outlook.refusal, "seed \(seed): \(kind) of \(app)")
        return true
    }
}

extension WakeKind {
    /// Whether the events behind it come at any rate, so that one wake takes several of them.
    fileprivate var recurs: Bool {
        switch self {
        case .bluetoothCentral, .bluetoothPeripheral, .health, .visit, .monitor: true
        case .fetch, .push, .newsstand, .pushToTalk, .transfer, .region, .significantChange, .refreshTask,
            .processingTask, .continuedProcessingTask, .voipPush, .voipSocket, .notificationResponse:
            false
        }
    }
}

extension LifecycleLife {
    func checkLaws() throws {
        let device = self.device
        let seed = Comment(rawValue: "seed \(self.seed)")
        #expect(device.apps.values.count { $0.state.isForeground } <= 1, seed)
        if let next = device.nextDeadline { #expect(next > now, seed) }
        for app in device.apps.values {
            switch app.state {
            case .notRunning, .suspended:
                #expect(app.pendingCallbacks.isEmpty && app.tasks.isEmpty && app.taskTime == nil, seed)
                #expect(app.activities.isEmpty && !app.holdsFileLock, seed)
            case .background: #expect(app.hasWork && (app.taskTime != nil || app.ending != nil), seed)
            case .inactive, .active: #expect(app.taskTime == nil, seed)
            }
            let isTimed = device.isAwake && app.activities.isEmpty && app.ending == nil
            #expect((app.taskClock != nil) == (app.taskTime != nil && isTimed), seed)
            #expect(device.isPoweredOn || app.state == .notRunning, seed)
            let events = app.wakes.values.filter { $0.kind.recurs }.map { "\($0.kind) \($0.request ?? "")" }
            #expect(Set(events).count == events.count, "\(seed): events of one kind share a wake")
            if app.state == .background, app.ending == nil {
                #expect(
                    app.wakes.values.allSatisfy { $0.deadline != nil }, "\(seed): a wake in the background is limited")
            }
            #expect((app.state == .notRunning) == (app.launchedAt == nil), seed)
            #expect(!(app.forceQuit && app.state.isForeground), seed)
            #expect(app.state == .notRunning || app.prewarmedAt == nil, seed)
            if app.ending != nil { #expect(app.state == .background && app.tasks.isEmpty, seed) }
            if !app.tasks.isEmpty, let end = app.taskDeadline { #expect(end > now, seed) }
            #expect(app.pendingCallbacks.allSatisfy { $0.deadline > now }, seed)
            #expect(app.wakes.values.allSatisfy { $0.deadline.map { $0 > now } ?? true }, seed)
            if app.state == .background, app.ending == nil {
                for kind in app.activities.keys.compactMap(ActivityKind.init) {
                    #expect(kind.modes.contains(where: app.manifest.backgroundModes.contains), seed)
                }
            }
            #expect(app.activities["location"] == nil || app.locationAuthorization != .denied, seed)
            #expect(app.regions.count + app.beaconRegions.count <= 20, seed)
            #expect(Set(app.regions.keys).isDisjoint(with: app.beaconRegions.keys), seed)
            let conditions = app.monitors.values.flatMap { $0.conditions.values }
            #expect(conditions.count <= 20 && conditions.allSatisfy { !$0.isPending || $0.next == nil }, seed)
            let hasSides = app.regions.values.contains { $0.isInside != nil }
            #expect(app.locationAccuracy.isFull || !device.isPoweredOn || !hasSides, seed)
            #expect(app.locationAccuracy != .temporaryFull || app.state.isRunning, seed)
            #expect(app.state != .notRunning || app.monitors.values.allSatisfy { !$0.isOpen }, seed)
            #expect(app.regions.values.allSatisfy { $0.beyondSince.map { now - $0 < .seconds(20.0) } ?? true }, seed)
        }
        let isHeld =
            device.conditions.locked != true || device.awakeUntil.map { $0 > now } ?? false
            || device.apps.values.contains { app in
                app.state.isForeground || !app.activities.isEmpty || !app.pendingCallbacks.isEmpty
                    || app.wakes.values.contains { $0.deadline != nil }
                    || !app.tasks.isEmpty && device.registration?.profile == .ios6
            }
        if device.registration != nil { #expect(device.isAwake == isHeld, seed) }
        #expect(Set(device.switcher).isSubset(of: device.apps.keys), seed)
        for (id, app) in device.apps where app.state != .notRunning && app.ending != .forceQuit {
            #expect(device.switcher.contains(id), seed)
        }
        #expect(Set(device.switcher).count == device.switcher.count, seed)
        #expect(LifecycleMachine(binary: device.binary)?.binary == device.binary, seed)
    }
}
