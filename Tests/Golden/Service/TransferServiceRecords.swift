import Records

@testable import TransferService

extension RecordGoldenTests {
    static let transferService: [any Record.Type] = [
        CallbackCompletion.self, ChallengeAnswer.self, ChallengeDocument.self, ClaimRequest.self, ContentDocument.self,
        CredentialDocument.self, DelayedRequestAnswer.self, DownloadRequest.self, Explanation.self,
        Explanation.Session.self,
        Explanation.Task.self, FileDocument.self, Page<FileDocument>.self, NewRequestDocument.self,
        SessionDocument.self,
        Page<SessionDocument>.self,
        TaskDocument.self, Page<TimelineEntry>.self, TimelineEntry.self, UploadRequest.self,
        AttemptAssignment.self, SecretHeaders.self,
    ]
}
