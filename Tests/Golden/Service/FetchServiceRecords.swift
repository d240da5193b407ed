import Records

@testable import FetchService

extension RecordGoldenTests {
    static let fetchService: [any Record.Type] = [
        BudgetsDocument.self, BudgetsDocument.Account.self, BudgetsDocument.BudgetDocument.self,
        BudgetsDocument.Pair.self,
        FetchDocument.self, Page<FetchDocument>.self, ForecastDocument.self, ForecastDocument.Advice.self,
        ForecastDocument.ContentAge.self, ForecastDocument.Factor.self, ForecastDocument.Next.self,
        ForecastDocument.Results.self, ForecastDocument.Skipped.self, IntervalDocument.self, IntervalRequest.self,
        TaskRequestDocument.self, TaskRequestList.self, TaskRunDocument.self, Page<TaskRunDocument>.self,
    ]
}
