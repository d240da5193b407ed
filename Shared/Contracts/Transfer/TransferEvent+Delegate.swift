public import Records
public import Timeline

extension TransferEvent {
    /// A download finished and its delegate got `didFinishDownloadingTo`. Its file exists until this callback returns.
    public struct DownloadFinished: TransferTaskEventData {
        public static let type = "transfer.download.finished"

        public var taskKey: Flattened<TaskKey>
        /// The time at which the callback counts as returned unless the app reports it earlier.
        public var until: Instant
    }

    /// An app claimed the file of a download before `didFinishDownloadingTo`.
    public struct FileReserved: TransferTaskEventData {
        public static let type = "transfer.file.reserved"

        public var taskKey: Flattened<TaskKey>
        /// The future name of the app's file.
        public var claimedAs: String
    }

    /// `didFinishDownloadingTo` returned. The app owns the file if it claimed it; otherwise the file is deleted.
    public struct DownloadReturned: TransferTaskEventData {
        public static let type = "transfer.download.returned"

        public var taskKey: Flattened<TaskKey>
        /// The name of the app's file from now on; nil if it was not claimed.
        public var claimedAs: String?
    }

    /// A server sent an authentication challenge that only the app can answer.
    public struct ChallengeReceived: TransferTaskEventData {
        public static let type = "transfer.challenge.received"

        public var taskKey: Flattened<TaskKey>
        public var challenge: AuthenticationChallenge
        public var id: String
    }

    /// The delegate got a challenge: `urlSession(_:task:didReceive:completionHandler:)`.
    public struct ChallengePresented: TransferTaskEventData {
        public static let type = "transfer.challenge.presented"

        public var taskKey: Flattened<TaskKey>
        public var challenge: AuthenticationChallenge
        public var id: String
        /// The time at which default handling begins unless the app answers. It counts only while the app runs.
        public var until: Instant
    }

    /// A challenge was answered. The log does not contain the credential.
    public struct ChallengeAnswered: TransferTaskEventData {
        public static let type = "transfer.challenge.answered"

        public var taskKey: Flattened<TaskKey>
        /// The challenge whose answer has the credential. It may be an earlier challenge of the same protection space.
        public var credential: String?
        public var disposition = ChallengeDisposition.performDefaultHandling
        public var id: String
        /// Whether the app did not answer in time.
        public var timedOut: Defaulted<Bool> = false
    }

    /// An app stored a file for an upload.
    public struct FileStored: EventData {
        public static let type = "transfer.file.stored"

        public var app: Nullable<String>
        public var file = AppFile()
        public var name: String
    }

    /// An app removed a file.
    public struct FileRemoved: EventData {
        public static let type = "transfer.file.removed"

        public var app: Nullable<String>
        public var name: String
    }

    /// An invalidated session ended: `didBecomeInvalidWithError`.
    public struct SessionEnded: EventData {
        public static let type = "transfer.session.ended"

        public var app: Nullable<String>
        /// The identifier of the session, chosen by the app.
        public var session: String
    }
}
