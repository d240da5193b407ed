import Contracts
import Records
import Scenarios
import Timeline

// Push to Talk: an app joins its channel on screen, and answers each push of a participant.
extension SimulatedDevice {
    /// The reason of a wake for a Push to Talk push.
    static let talk = "pushToTalk"
    /// The percentage of pushes after which the user leaves the channel (our choice).
    static let leaving = 10

    mutating func wantChannel(_ app: Int, at now: Instant) {
        guard apps[app].model.talks, services.contains(.push), has(.pushToTalk) else { return }
        drop(app) { $0 == .joinChannel }
        if !apps[app].isInChannel { schedule(.joinChannel, of: app, at: now + .milliseconds(50)) }
    }

    /// Returns the result of a push. The user joins again at the next use of the app.
    mutating func answerToTalk(of app: Int) -> JSON {
        guard random.percent(Self.leaving) else { return ["pushResult": "activeRemoteParticipant"] }
        apps[app].isInChannel = false
        return ["pushResult": "leaveChannel"]
    }
}

extension Order {
    /// Whether it is the wake for a Push to Talk push.
    var isTalk: Bool { data["kind"]?.string == SimulatedDevice.talk }
}
