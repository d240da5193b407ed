import Contracts
import LifecycleCore
import OrderedCollections
import Scenarios
import Timeline

// The faults of a device. Two faults of one kind may overlap: the effect ends with the last one.
extension DeviceSimulation {
    mutating func beginFault(_ number: Int, _ context: inout PartitionContext) throws {
        let fault = faults[number]
        if fault.kind.lasts {
            activeFaults.insert(number)
            schedule(.endFault(number), after: fault.until - now)
        }
        switch fault.kind {
        case .crash(let app):
            guard lifecycle.state.apps[app]?.state.isRunning == true else { return }
            try submit(.transition(app: app, .crash), &context)
        case .memoryPressure: try reportMemoryPressure(&context)
        case .reboot: if lifecycle.state.isPoweredOn { try submit(.power(.off), &context) }
        case .lostRadio: try reportNetwork(&context)
        case .clockSkew, .doubledPushes, .kill, .latePushes, .neverReturns: return
        }
    }

    mutating func endFault(_ number: Int, _ context: inout PartitionContext) throws {
        let kind = faults[number].kind
        activeFaults.remove(number)
        switch kind {
        case .memoryPressure: try reportMemoryPressure(&context)
        case .reboot:
            if !activeFaults.contains(where: { faults[$0].kind == .reboot }) { try submit(.power(.boot), &context) }
        case .lostRadio: try reportNetwork(&context)
        case .clockSkew, .crash, .doubledPushes, .kill, .latePushes, .neverReturns: return
        }
    }

    /// Reports the highest pressure of all faults that last.
    private mutating func reportMemoryPressure(_ context: inout PartitionContext) throws {
        let kinds = activeFaults.map { faults[$0].kind }
        let highest = [MemoryPressure.critical, .warning].first { kinds.contains(.memoryPressure($0)) }
        var report = ConditionsReport()
        report.memoryPressure = highest ?? .normal
        try submit(.updateConditions(report), &context)
    }
}
