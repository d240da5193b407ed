import Records

@testable import TransferCore

extension RecordGoldenTests {
    static let transferMachine: [any Record.Type] = [
        AppView.self, Attempt.self, AttemptRecord.self, BackgroundSession.self, Countdown.self, DeclinedSpace.self,
        DelayedRequestState.self,
        FinishingDownload.self, HeldCredential.self, Hindrance.self, PendingChallenge.self, PendingRedirect.self,
        ResumableTransfer.self,
        Segment.self, TransferMachine.self, TransferTask.self, UploadResource.self,
    ]
}
