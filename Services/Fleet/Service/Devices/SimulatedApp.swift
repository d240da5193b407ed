import Timeline

/// An app on a simulated device, with its simulated state.
public struct SimulatedApp: Sendable, Equatable {
    /// The states of `lifecycle`.
    public enum State: String, Sendable, CaseIterable {
        case notRunning, inactive, active, background, suspended

        /// Whether its code can run.
        public var isRunning: Bool { self != .notRunning && self != .suspended }
    }

    public let model: AppModel
    public internal(set) var state = State.notRunning
    /// The offset of the newest applied information. Older information changes nothing.
    var asOf = 0
    /// The user's authorization of location; nil until the app has asked.
    var location: String?
    /// The active wakes.
    var wakes: [String] = []
    /// The active background tasks.
    var tasks: [String] = []
    /// Whether it has asked the user for authorization to send notifications.
    public internal(set) var hasAsked = false
    /// Whether it has set its notification categories.
    var hasCategories = false
    /// Whether its central manager waits for events.
    var hasAccessory = false
    /// The number of its exports.
    var exports = 0
    /// The number of its uploads.
    var uploads = 0
    /// Whether it is in its Push to Talk channel.
    var isInChannel = false
    /// The token for notifications; nil until the app has registered.
    public internal(set) var pushToken: String?
    /// The completed downloads whose bytes are counted.
    var received: Set<Int> = []

    init(_ model: AppModel) { self.model = model }

    /// Applies a state unless newer information is known. A state without offset counts as the newest.
    ///
    /// - Returns: whether the state was applied.
    @discardableResult
    mutating func learn(_ new: State, asOf offset: Int?) -> Bool {
        guard (offset ?? asOf) >= asOf else { return false }
        asOf = offset ?? asOf
        state = new
        guard new == .notRunning else { return true }
        wakes = []
        tasks = []
        return true
    }

    /// Whether a response is newer than the orders that were applied.
    func isNews(asOf offset: Int?) -> Bool { offset.map { $0 > asOf } ?? true }
}

/// Scheduled work.
struct Work: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        // Work of the user and the device.
        case report, pickUp, tryOut, putDown, interrupt, dismiss, swipe, keepAlive
        case acknowledge(String)
        /// The service extension returns its content.
        case modify(String)
        case open(String)
        /// The user answers a notification without opening its app.
        case reply(String)
        case cancelExport(String)
        // Work of the code of the app.
        case askForLocation, askForNotifications
        case crash, download, openSession, upload, joinChannel
        case pauseUpload(Int)
        case continueUpload(String)
        case completeCallback(String, session: String?)
        case completeWake(String, reason: String)
        case export
        case reportProgress(String, part: Int, of: Int)
        case endTask(String)
        case answerChallenge(String)
        case register

        /// Whether the code of the app does the work, so only while it can run.
        var isCode: Bool {
            switch self {
            case .askForLocation, .askForNotifications: true
            case .report, .pickUp, .tryOut, .putDown, .interrupt, .dismiss, .swipe, .keepAlive, .acknowledge, .modify,
                .open, .reply, .cancelExport:
                false
            case .crash, .download, .openSession, .upload, .joinChannel, .pauseUpload, .continueUpload,
                .completeCallback, .completeWake, .export, .reportProgress, .endTask,
                .answerChallenge, .register:
                true
            }
        }
    }

    var due: Instant
    /// The index of the app; nil for work of the device.
    var app: Int?
    var kind: Kind
}
