import Contracts
import LifecycleMachine
import Lives
import Machines
import OrderedCollections
import Records
import TestSupport
import Testing
import Timeline

/// Random lives of a device. A failure names its seed.
@Suite(.aside) struct LifecycleProperties {
    @Test(arguments: (1...40).map { UInt64($0) * 7919 })
    func anyLifeKeepsTheLaws(seed: UInt64) throws {
        print("lifecycle property seed \(seed)")
        var life = LifecycleLife(seed: seed)
        for _ in 0..<250 {
            try life.step()
            try life.checkLaws()
        }
        #expect(try life.runtime.foldCheck().isEmpty, "seed \(seed)")
    }
}

extension LifecycleLife {
    fileprivate func checkLaws() throws {
        let device = self.device
        let seed = Comment(rawValue: "seed \(self.seed)")
        #expect(device.apps.values.count { $0.state.isForeground } <= 1, seed)
        if let next = device.nextDeadline { #expect(next > now, seed) }
        for app in device.apps.values {
            switch app.state {
            case .notRunning, .suspended:
                #expect(app.pendingCallbacks.isEmpty && app.tasks.isEmpty && app.taskTime == nil, seed)
            case .background: #expect(app.hasWork && app.taskTime != nil, seed)
            case .inactive, .active: #expect(app.taskTime == nil, seed)
            }
            #expect((app.taskClock != nil) == (app.taskTime != nil && device.isAwake), seed)
            #expect((app.state == .notRunning) == (app.launchedAt == nil), seed)
            #expect(!(app.forceQuit && app.state != .notRunning), seed)
            #expect(app.state == .notRunning || app.prewarmedAt == nil, seed)
            if app.ending != nil { #expect(app.state == .background && app.tasks.isEmpty, seed) }
            if !app.tasks.isEmpty, let end = app.taskDeadline { #expect(end > now, seed) }
            #expect(app.pendingCallbacks.allSatisfy { $0.deadline > now }, seed)
            #expect(app.wakes.values.allSatisfy { $0.deadline.map { $0 > now } ?? true }, seed)
        }
        let isHeld =
            device.conditions.locked != true || device.awakeUntil.map { $0 > now } ?? false
            || device.apps.values.contains { app in
                app.state.isForeground || !app.pendingCallbacks.isEmpty
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
