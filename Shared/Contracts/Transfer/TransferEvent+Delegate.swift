public import Records
public import Timeline

extension TransferEvent {
    /// A download has finished: `didFinishDownloadingTo`. Its file stays until this callback has returned.
    public struct DownloadFinished: TransferTaskEventData {
        public static let type = "transfer.download.finished"

        public var app: Nullable<String>
        public var session: String
        public var task: Int
        /// When the callback is taken to have returned, unless the app says so earlier.
        public var until: Instant
    }

    /// The app wants the file of a download as soon as it is offered.
    public struct FileReserved: TransferTaskEventData {
        public static let type = "transfer.file.reserved"

        public var app: Nullable<String>
        public var session: String
        public var task: Int
        /// The name that the app's file will have.
        public var claimedAs: String
    }

    /// `didFinishDownloadingTo` has returned: the file is the app's if it claimed it, and gone if not.
    public struct DownloadReturned: TransferTaskEventData {
        public static let type = "transfer.download.returned"

        public var app: Nullable<String>
        public var session: String
        public var task: Int
        /// The name that the app's file has from now on; nil where it was not claimed.
        public var claimedAs: String?
    }

    /// A server asks for what only the app can give.
    public struct ChallengeReceived: TransferTaskEventData {
        public static let type = "transfer.challenge.received"

        public var app: Nullable<String>
        public var session: String
        public var task: Int
        public var challenge: AuthenticationChallenge
        public var id: String
    }

    /// The app is asked: `urlSession(_:task:didReceive:completionHandler:)`.
    public struct ChallengePresented: TransferTaskEventData {
        public static let type = "transfer.challenge.presented"

        public var app: Nullable<String>
        public var session: String
        public var task: Int
        public var challenge: AuthenticationChallenge
        public var id: String
        /// Default handling follows, unless it is answered earlier. Time counts while the app runs.
        public var until: Instant
    }

    /// A challenge was answered. What was given for a credential is not in the log.
    public struct ChallengeAnswered: TransferTaskEventData {
        public static let type = "transfer.challenge.answered"

        public var app: Nullable<String>
        public var session: String
        public var task: Int
        /// The challenge whose answer holds the credential: another one where that is of the same protection space.
        public var credential: String?
        public var disposition = ChallengeDisposition.performDefaultHandling
        public var id: String
        /// The app did not answer in time.
        public var timedOut: Defaulted<Bool> = false
    }

    /// An app has a file: one that it put there, to be sent.
    public struct FileStored: EventData {
        public static let type = "transfer.file.stored"

        public var app: Nullable<String>
        public var file = AppFile()
        public var name: String
    }

    /// An app has removed a file.
    public struct FileRemoved: EventData {
        public static let type = "transfer.file.removed"

        public var app: Nullable<String>
        public var name: String
    }

    /// An invalidated session is no more: `didBecomeInvalidWithError`.
    public struct SessionEnded: EventData {
        public static let type = "transfer.session.ended"

        public var app: Nullable<String>
        /// The session's identifier, as the app chose it.
        public var session: String
    }
}
