import Records

@testable import FetchCore

extension RecordGoldenTests {
    static let fetchMachine: [any Record.Type] = [
        ContentAges.self, ContinuedTask.self, ContinuedTask.Run.self, FetchMachine.self, PendingTask.self,
        RunningFetch.self, RunningTask.self, ScheduledApp.self,
        BudgetUsage.self, ReliabilityScore.self, TaskWait.self, UsageProfile.self, Wait.self,
    ]
}
