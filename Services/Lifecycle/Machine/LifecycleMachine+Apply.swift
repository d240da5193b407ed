public import Contracts
import OrderedCollections
public import Timeline

extension LifecycleMachine {
    public mutating func apply(_ event: LifecycleEvent, at time: Instant) {
        updateState(event, at: time)
        meterEnergy(at: time)
    }

    private mutating func updateState(_ event: LifecycleEvent, at time: Instant) {
        switch event {
        case .deviceRegistered(let event): registration = event.registration
        case .deviceUpdated(let event): apply(event, at: time)
        case .deviceDeregistered, .deviceErased: self = LifecycleMachine()
        case .deviceRevoked: break
        case .deviceTakenOver(let event): changeClient(to: event.client, at: time)
        case .deviceGivenBack: changeClient(to: nil, at: time)
        case .devicePowered(let event): apply(event, at: time)
        case .deviceAwoke(let event): apply(event, at: time)
        case .deviceSlept: applySleep(at: time)
        case .deviceInterrupted: break
        case .conditionsChanged(let event): apply(event, at: time)
        case .settingsChanged(let event):
            apply(event.settings, to: event.app, at: time)
        case .backgroundRefreshChanged: break
        case .appInstalled(let event):
            guard let app = event.app else { return }
            apps[app, default: InstalledApp(event.manifest)].manifest = event.manifest
        case .appUninstalled(let event):
            guard let app = event.app else { return }
            apps.removeValue(forKey: app)
            switcher.removeAll { $0 == app }
        case .appPrewarmed(let event): change(event.app, at: time) { $0.prewarmedAt = time }
        case .appLaunched(let event): apply(event, at: time)
        case .appActivated(let event): apply(event, at: time)
        case .appResigned(let event): change(event.app, at: time) { $0.state = event.state }
        case .appBackgrounded(let event): apply(event, at: time)
        case .appSuspended(let event):
            change(event.app, at: time) {
                $0.state = event.state
                $0.taskClock = nil
                $0.taskTime = nil
            }
        case .appWoken(let event): apply(event, at: time)
        case .appTerminating(let event): apply(event, at: time)
        case .appTerminated(let event): apply(event, at: time)
        case .callbackCompleted(let event): apply(event, at: time)
        case .taskBegun(let event): apply(event, at: time)
        case .taskEnded(let event): change(event.app, at: time) { $0.tasks.removeValue(forKey: event.task) }
        case .taskExpiring(let event): change(event.app, at: time) { $0.tasks[event.task]?.isExpiring = true }
        case .wakeCompleted(let event): apply(event, at: time)
        case .wakeProgressed(let event): apply(event)
        case .wakeExpiring(let event):
            change(event.app, at: time) {
                $0.wakes[event.wake]?.isExpiring = true
                $0.wakes[event.wake]?.deadline = event.deadline
            }
        case .wakeExpired(let event):
            change(event.app, at: time) {
                $0.endHealthWake($0.wakes[event.wake], isCompleted: false)
                $0.close(event.wake)
                $0.takeSnapshot(at: time)
            }
        case .wakeRefused: break
        case .activityStarted(let event): apply(event, at: time)
        case .activityStopped(let event): apply(event, at: time)
        case .actionReported(let event): apply(event, at: time)
        case .regionMonitored(let event): apply(event, at: time)
        case .regionUnmonitored(let event):
            change(event.app, at: time) {
                $0.regions.removeValue(forKey: event.identifier)
                $0.beaconRegions.removeValue(forKey: event.identifier)
            }
        case .beaconRegionMonitored(let event): apply(event, at: time)
        case .regionStateDetermined: break
        case .monitorOpened(let event):
            change(event.app, at: time) { $0.monitors[event.monitor, default: Monitor()].isOpen = true }
        case .monitorConditionAdded(let event): apply(event, at: time)
        case .monitorConditionRemoved(let event):
            change(event.app, at: time) { $0.monitors[event.monitor]?.conditions.removeValue(forKey: event.identifier) }
        case .monitorConditionChanged(let event): change(event.app, at: time) { event.apply(to: &$0) }
        case .monitorEventDelivered(let event): apply(event, at: time)
        case .regionCrossed(let event):
            change(event.app, at: time) {
                $0.regions[event.identifier]?.isInside = event.entered
                $0.regions[event.identifier]?.beyondSince = nil
                $0.beaconRegions[event.identifier]?.isInside = event.entered
                $0.beaconRegions[event.identifier]?.beyondSince = nil
                // A beacon needs no data.
                if $0.regions[event.identifier] != nil { $0.energy.monitoringBytes += EnergyLedger.crossingBytes }
            }
        case .significantChangesMonitored(let event): apply(event, at: time)
        case .significantChangesUnmonitored(let event): change(event.app, at: time) { $0.significantChanges = nil }
        case .significantChangeReported(let event): apply(event, at: time)
        case .bluetoothManagerStarted(let event):
            change(event.app, at: time) { $0.bluetooth[event.role.rawValue] = event.manager }
        case .bluetoothManagerStopped(let event):
            change(event.app, at: time) { $0.bluetooth.removeValue(forKey: event.role.rawValue) }
        case .bluetoothEventOccurred: break
        case .healthDeliveryEnabled(let event):
            change(event.app, at: time) {
                $0.health[event.sampleType, default: EnabledHealthDelivery()].frequency = event.frequency
            }
        case .healthDeliveryDisabled(let event):
            change(event.app, at: time) { $0.health.removeValue(forKey: event.sampleType) }
        case .healthSampleSaved(let event): apply(event)
        case .healthUpdateDelivered(let event): apply(event, at: time)
        case .visitsMonitored(let event): change(event.app, at: time) { $0.monitorsVisits = true }
        case .visitsUnmonitored(let event): change(event.app, at: time) { $0.monitorsVisits = false }
        case .visitReported(let event): change(event.app, at: time) { $0.visitReportedAt = time }
        case .notificationAuthorizationDecided: break
        case .notificationResponded(let event): apply(event, at: time)
        case .outageRecorded(let event): apply(event)
        }
    }

    private mutating func change(_ app: String?, at time: Instant, _ body: (inout InstalledApp) -> Void) {
        guard let app, let index = apps.index(forKey: app) else { return }
        let state = known[index].state
        body(&apps.values[index])
        if known[index].state != state { apps.values[index].stateSince = time }
        if !known[index].state.isForeground { apps.values[index].usedUntil = nil }
        if let due = answerDue(calledAt: time) { apps.values[index].scheduleAnswers(at: due) }
    }

    private mutating func toFrontOfSwitcher(_ app: String?) {
        guard let app else { return }
        switcher.removeAll { $0 == app }
        switcher.insert(app, at: 0)
    }

    private mutating func apply(_ event: LifecycleEvent.DevicePowered, at time: Instant) {
        isPoweredOn = event.power != .off
        for app in apps.keys {
            change(app, at: time) { app in
                app.prewarmedAt = nil
                if event.power != .off { app.forceQuit = false }
            }
        }
        isPoweredOn ? trackPlaces(at: time) : loseTrack()
    }

    /// Memory pressure ends prewarmed processes first, without an event of their own.
    private mutating func apply(_ event: LifecycleEvent.ConditionsChanged, at time: Instant) {
        conditions = conditions.merging(event.conditions)
        let report = event.conditions
        if report.location != nil || report.tower != nil || report.beacons != nil || report.bluetooth != nil {
            trackPlaces(at: time)
        }
        guard let pressure = event.conditions.memoryPressure, pressure != .normal else { return }
        for app in apps.keys { change(app, at: time) { $0.prewarmedAt = nil } }
    }

    private mutating func apply(_ event: LifecycleEvent.AppLaunched, at time: Instant) {
        toFrontOfSwitcher(event.app)
        change(event.app, at: time) { app in
            app.energy.launches += LaunchCost(app.processStart).energy
            app.state = event.state
            app.forceQuit = false
            app.localNotifications = 0
            app.launchedAt = time
            app.prewarmedAt = nil
            app.connectScene(event.callbacks)
            if let deadline = event.deadline {
                app.pendingCallbacks = [PendingCallback(.didFinishLaunching, until: deadline)]
            }
        }
    }

    /// The limits of the background end in the foreground.
    private mutating func apply(_ event: LifecycleEvent.AppActivated, at time: Instant) {
        toFrontOfSwitcher(event.app)
        change(event.app, at: time) { app in
            if !app.state.isForeground { app.energy.launches += LaunchCost(app.processStart).energy }
            app.localNotifications = 0
            // Only the user's opening of the app clears the flag. A wake despite a force quit does not.
            app.forceQuit = false
            app.state = event.state
            app.taskClock = nil
            app.taskTime = nil
            app.pendingCallbacks = []
            app.connectScene(event.callbacks)
            app.releaseWakes()
            for task in app.tasks.keys { app.tasks[task]?.isExpiring = false }
        }
    }

    private mutating func apply(_ event: LifecycleEvent.AppBackgrounded, at time: Instant) {
        let isAwake = isAwake
        change(event.app, at: time) { app in
            app.state = event.state
            app.taskTime = event.taskTime
            app.startTaskClock(at: time, isAwake: isAwake)
            app.bindWakes(from: time)
            if let deadline = event.deadline {
                app.pendingCallbacks.append(
                    PendingCallback(event.callbacks.last ?? .didEnterBackground, until: deadline))
            } else {
                app.takeSnapshot(at: time)
            }
        }
    }

    private mutating func apply(_ event: LifecycleEvent.CallbackCompleted, at time: Instant) {
        change(event.app, at: time) { app in
            app.pendingCallbacks.removeAll { $0.callback == event.callback }
            guard event.callback.entersBackground else { return }
            app.takeSnapshot(at: time, event.snapshotLabel)
        }
    }

    private mutating func apply(_ event: LifecycleEvent.TaskBegun, at time: Instant) {
        var task = BackgroundTask()
        task.name = event.name
        task.expirationHandler = event.expirationHandler
        task.begunAt = time
        change(event.app, at: time) { $0.tasks[event.task] = task }
    }

    private mutating func apply(_ event: LifecycleEvent.AppWoken, at time: Instant) {
        var wake = Wake()
        wake.callReported = event.mustReportCall == false
        wake.kind = event.kind ?? WakeKind(event.reason)
        wake.request = event.request
        wake.deadline = event.state.isForeground ? nil : event.deadline
        wake.limit = event.limit
        wake.expirationHandler = event.expirationHandler ?? true
        let isAwake = isAwake
        change(event.app, at: time) { app in
            app.energy.wakes += LaunchCost(app.processStart).energy
            app.state = event.state
            app.wakes[event.wake] = wake
            app.note(wake.kind, at: time)
            // The launch loads the interface, which the switcher shows.
            if event.from == .notRunning { app.takeSnapshot(at: time) }
            app.launchedAt = app.launchedAt ?? time
            app.prewarmedAt = nil
            guard let taskTime = event.taskTime else { return }
            app.taskTime = taskTime
            app.taskClock = nil
            app.startTaskClock(at: time, isAwake: isAwake)
        }
        // The user has not used the app, so it comes last.
        if let app = event.app, !switcher.contains(app) { switcher.append(app) }
    }

    private mutating func apply(_ event: LifecycleEvent.WakeCompleted, at time: Instant) {
        change(event.app, at: time) { app in
            app.endHealthWake(app.wakes[event.wake], isCompleted: true)
            app.close(event.wake)
            app.energy.receive(event.bytesReceived ?? 0)
            app.takeSnapshot(at: time, event.snapshotLabel)
        }
    }

    /// From now on, only the limit of `willTerminate` applies: tasks, activities and limits of wakes end.
    private mutating func apply(_ event: LifecycleEvent.AppTerminating, at time: Instant) {
        if event.reason == .forceQuit { switcher.removeAll { $0 == event.app } }
        change(event.app, at: time) { app in
            app.endingFrom = app.state
            app.state = event.state
            app.ending = event.reason
            app.pendingCallbacks = [PendingCallback(.willTerminate, until: event.deadline)]
            app.tasks = [:]
            app.stopTaskClock(at: time)
            app.activities = [:]
            app.releaseWakes()
        }
    }

    private mutating func apply(_ event: LifecycleEvent.AppTerminated, at time: Instant) {
        if event.reason == .forceQuit || event.leavesSwitcher == true { switcher.removeAll { $0 == event.app } }
        change(event.app, at: time) { app in
            if event.reason == .forceQuit { app.forceQuit = true }
            guard event.from != .notRunning else { return }
            app.state = event.state
            app.isSceneConnected = false
            app.launchedAt = nil
            app.exits.count(event.reason, in: app.endingFrom ?? event.from)
            app.ending = nil
            app.endingFrom = nil
            app.pendingCallbacks = []
            app.tasks = [:]
            app.taskClock = nil
            app.taskTime = nil
            for wake in app.wakes.values { app.endHealthWake(wake, isCompleted: false) }
            app.wakes = [:]
            app.activities = [:]
            app.endBluetooth()
            app.closeMonitors()
            app.holdsFileLock = false
            app.lastEnd = Termination(event, at: time)
            guard event.reason == .voipWithoutCall else { return }
            app.unreportedCalls = app.unreportedCalls.suffix(LifecyclePolicy.unreportedCalls - 1) + [time]
        }
    }
}
