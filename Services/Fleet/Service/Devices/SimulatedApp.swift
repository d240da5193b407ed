import Timeline

/// An app on a simulated device, and what its device believes of it.
public struct SimulatedApp: Sendable, Equatable {
    /// The states of `lifecycle`.
    public enum State: String, Sendable, CaseIterable {
        case notRunning, inactive, active, background, suspended

        /// Whether its code can run.
        public var isRunning: Bool { self != .notRunning && self != .suspended }
    }

    public let model: AppModel
    public internal(set) var state = State.notRunning
    /// The offset up to which the belief holds: older news changes nothing.
    var asOf = 0
    /// The wakes that its code works for.
    var wakes: [String] = []
    /// The background tasks that it holds.
    var tasks: [String] = []
    /// The finished downloads whose bytes are counted.
    var received: Set<Int> = []

    init(_ model: AppModel) { self.model = model }

    /// Believes an order, unless something newer is known; where its offset is unknown, it is taken for the newest.
    ///
    /// - Returns: whether it was believed.
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

    /// Whether an answer tells anything new: of events that orders have told already it does not.
    func isNews(asOf offset: Int?) -> Bool { offset.map { $0 > asOf } ?? true }
}

/// Something that will be done at a moment.
struct Work: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        // The person and the device.
        case report, pickUp, putDown, interrupt, dismiss, swipe, keepAlive
        case acknowledge(String)
        case open(String)
        // The code of the app.
        case crash, download, openSession
        case completeCallback(String, session: String?)
        case completeWake(String, reason: String)
        case endTask(String)
        case answerChallenge(String)

        /// Done by the code of the app, so only while that can run.
        var isCode: Bool {
            switch self {
            case .report, .pickUp, .putDown, .interrupt, .dismiss, .swipe, .keepAlive, .acknowledge, .open: false
            case .crash, .download, .openSession, .completeCallback, .completeWake, .endTask, .answerChallenge: true
            }
        }
    }

    var due: Instant
    /// The index of the app; nil where it is about the device.
    var app: Int?
    var kind: Kind
}
