import Records

@testable import OpsService

extension RecordGoldenTests {
    static let opsService: [any Record.Type] = [
        Advance.self, Advanced.self, ClockDocument.self, ClockSettings.self, ConsumerDocument.self,
        ConsumerDocument.Place.self, Page<KnownDevice>.self, EndCount.self, FoldCheck.self, KnownDevice.self,
        KnownDevice.App.self, DeadLetterDocument.self, LogCheck.self, LogCheck.Partition.self, ExplainedPush.self,
        PastState.self, PushReason.self,
        Page<PushRow>.self, PushRow.self,
        Erasure.self, ReasonCount.self, Released.self, Stats.self, StatsNow.self, StatsNow.Apps.self, StatsPoint.self,
        StatusCount.self, TimelineEntry.self, TransferTotals.self, TypeCount.self,
    ]
}
