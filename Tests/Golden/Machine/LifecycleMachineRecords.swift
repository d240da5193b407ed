import Records

@testable import LifecycleMachine

extension RecordGoldenTests {
    static let lifecycleMachine: [any Record.Type] = [
        Activity.self, BackgroundTask.self, EnergyLedger.self, ExitCounts.self, Explanation.self, Explanation.Hold.self,
        Explanation.Next.self, Explanation.WakeOutlook.self, Explanation.WakeOutlook.Factor.self, InstalledApp.self,
        LifecycleMachine.self, LifecyclePolicy.self, MonitoredRegion.self, PendingCallback.self, Profile.self,
        SignificantChanges.self, Termination.self, Wake.self,
    ]
}
