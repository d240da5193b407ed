import Records

@testable import FetchMachine

extension RecordGoldenTests {
    static let fetchMachine: [any Record.Type] = [
        ContentAges.self, FetchMachine.self, PendingTask.self, RunningFetch.self, RunningTask.self, ScheduledApp.self,
        BudgetUsage.self, ReliabilityScore.self, TaskWait.self, UsageProfile.self, Version1.self, Version1.App.self,
        Version1.PastWait.self, Version1.PendingTask.self, Version1.TaskWait.self, Version1.Usage.self,
        Version1.Wait.self, Wait.self,
    ]
}
