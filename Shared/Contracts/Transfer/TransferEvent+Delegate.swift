public import Records
public import Timeline

extension TransferEvent {
    /// A download has finished: `didFinishDownloadingTo`. Its file stays until this callback has returned.
    public struct DownloadFinished: TransferTaskEventData {
        public static let type = "transfer.download.finished"
        public static let summary =
            "A download has finished: didFinishDownloadingTo. Its file stays until this callback has returned."

        public var app: String?
        public var session = ""
        public var task = 0
        /// When the callback is taken to have returned, unless the app says so earlier.
        public var until = Instant.epoch

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            visitPlace(&fields)
            fields.field("until", &until)
        }
    }

    /// The app wants the file of a download as soon as it is offered.
    public struct FileReserved: TransferTaskEventData {
        public static let type = "transfer.file.reserved"
        public static let summary = "The app wants the file of a download as soon as it is offered."

        public var app: String?
        public var session = ""
        public var task = 0
        /// The name that the app's file will have.
        public var claimedAs = ""

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            visitPlace(&fields)
            fields.field("claimedAs", &claimedAs)
        }
    }

    /// `didFinishDownloadingTo` has returned: the file is the app's if it claimed it, and gone if not.
    public struct DownloadReturned: TransferTaskEventData {
        public static let type = "transfer.download.returned"
        public static let summary =
            "didFinishDownloadingTo has returned: the file is the app's if it claimed it, and gone if not."

        public var app: String?
        public var session = ""
        public var task = 0
        /// The name that the app's file has from now on; nil where it was not claimed.
        public var claimedAs: String?

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            visitPlace(&fields)
            fields.omittable("claimedAs", &claimedAs)
        }
    }

    /// A server asks for what only the app can give.
    public struct ChallengeReceived: TransferTaskEventData {
        public static let type = "transfer.challenge.received"
        public static let summary = "A server asks for what only the app can give."

        public var app: String?
        public var session = ""
        public var task = 0
        public var id = ""
        public var challenge = AuthenticationChallenge()

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            visitPlace(&fields)
            fields.field("challenge", &challenge)
            fields.field("id", &id)
        }
    }

    /// The app is asked: `urlSession(_:task:didReceive:completionHandler:)`.
    public struct ChallengePresented: TransferTaskEventData {
        public static let type = "transfer.challenge.presented"
        public static let summary = "The app is asked: urlSession(_:task:didReceive:completionHandler:)."

        public var app: String?
        public var session = ""
        public var task = 0
        public var id = ""
        public var challenge = AuthenticationChallenge()
        /// Default handling follows, unless it is answered earlier. Time counts while the app runs.
        public var until = Instant.epoch

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            visitPlace(&fields)
            fields.field("challenge", &challenge)
            fields.field("id", &id)
            fields.field("until", &until)
        }
    }

    /// A challenge was answered. What was given for a credential is not in the log.
    public struct ChallengeAnswered: TransferTaskEventData {
        public static let type = "transfer.challenge.answered"
        public static let summary = "A challenge was answered. What was given for a credential is not in the log."

        public var app: String?
        public var session = ""
        public var task = 0
        public var id = ""
        public var disposition = ChallengeDisposition.performDefaultHandling
        /// The challenge whose answer holds the credential: another one where that is of the same protection space.
        public var credential: String?
        /// The app did not answer in time.
        public var timedOut = false

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            visitPlace(&fields)
            fields.omittable("credential", &credential)
            fields.field("disposition", &disposition)
            fields.field("id", &id)
            fields.defaulted("timedOut", &timedOut)
        }
    }

    /// An app has a file: one that it put there, to be sent.
    public struct FileStored: EventData {
        public static let type = "transfer.file.stored"
        public static let summary = "An app has a file: one that it put there, to be sent."

        public var app: String?
        public var name = ""
        public var file = AppFile()

        public init() {}

        public init(app: String, name: String, file: AppFile) {
            self.app = app
            self.name = name
            self.file = file
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("file", &file)
            fields.field("name", &name)
        }
    }

    /// An app has removed a file.
    public struct FileRemoved: EventData {
        public static let type = "transfer.file.removed"
        public static let summary = "An app has removed a file."

        public var app: String?
        public var name = ""

        public init() {}

        public init(app: String, name: String) {
            self.app = app
            self.name = name
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("name", &name)
        }
    }

    /// An invalidated session is no more: `didBecomeInvalidWithError`.
    public struct SessionEnded: EventData {
        public static let type = "transfer.session.ended"
        public static let summary = "An invalidated session is no more: didBecomeInvalidWithError."

        public var app: String?
        /// The session's identifier, as the app chose it.
        public var session = ""

        public init() {}

        public init(app: String, session: String) {
            self.app = app
            self.session = session
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("session", &session)
        }
    }
}
