import Records

@testable import LifecycleCore

extension RecordGoldenTests {
    static let lifecycleMachine: [any Record.Type] = [
        Activity.self, BackgroundTask.self, EnergyLedger.self, ExitCounts.self, Explanation.self, Explanation.Hold.self,
        Explanation.Next.self, Explanation.WakeOutlook.self, Explanation.WakeOutlook.Factor.self, InstalledApp.self,
        LifecycleMachine.self, Monitor.self, MonitoredBeaconRegion.self, MonitoredCondition.self,
        MonitoredRegion.self, PendingCallback.self,
        SignificantChanges.self, Termination.self, Wake.self,
    ]
}
