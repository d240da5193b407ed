import Records

@testable import TransferService

extension RecordGoldenTests {
    static let transferService: [any Record.Type] = [
        CallbackCompletion.self, ChallengeAnswer.self, ChallengeDocument.self, ClaimRequest.self, ContentDocument.self,
        CredentialDocument.self, DownloadRequest.self, Explanation.self, Explanation.Session.self,
        Explanation.Task.self, FileDocument.self, FileList.self, SessionDocument.self, SessionList.self,
        TaskDocument.self, TimelineDocument.self, TimelineDocument.Entry.self, UploadRequest.self,
        AttemptAssignment.self,
    ]
}
