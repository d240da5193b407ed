import Records

@testable import TransferMachine

extension RecordGoldenTests {
    static let transferMachine: [any Record.Type] = [
        AppView.self, Attempt.self, AttemptRecord.self, BackgroundSession.self, Countdown.self, DeclinedSpace.self,
        FinishingDownload.self, HeldCredential.self, Hindrance.self, PendingChallenge.self, ResumableDownload.self,
        Segment.self, TransferMachine.self, TransferTask.self, Version1.self, Version1.App.self,
        Version1.AttemptRecord.self, Version1.Failure.self, Version1.Request.self, Version1.Session.self,
        Version1.Task.self,
    ]
}
