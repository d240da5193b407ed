public import Contracts
public import Records
public import Timeline

/// A time limit that can be stopped, for example while the code of an app does not run.
public struct Countdown: Record, Equatable {
    /// The remaining time of a stopped countdown.
    public var left = Interval.zero
    /// The end of a running countdown; nil while it is stopped.
    public var until: Instant?

    mutating func stop(at time: Instant) {
        guard let until else { return }
        left = max(.zero, until - time)
        self.until = nil
    }

    mutating func extend(by length: Interval) { until = until.map { $0 + length } }

    mutating func goOn(at time: Instant) {
        if until == nil { until = time + left }
    }
}

/// A `didFinishDownloadingTo` that has not returned.
public struct FinishingDownload: Record, Equatable {
    public var task = 0
    public var countdown = Countdown()
}

/// A challenge that the app has not answered.
public struct PendingChallenge: Record, Equatable {
    public var id = ""
    public var challenge = AuthenticationChallenge()
    /// The time that the app has to answer; nil until the challenge is presented.
    public var countdown: Countdown?
}

/// A redirect about which the app has not decided.
public struct PendingRedirect: Record, Equatable {
    public var status = 0
    /// The method of the proposed request.
    public var method = ""
    /// The URL of the proposed request.
    public var url = ""
    /// The time that the app has to answer; nil until the redirect is presented.
    public var countdown: Countdown?
}

/// The progress of the `willBeginDelayedRequest` of a task.
public struct DelayedRequestState: Record, Equatable {
    public enum Phase: String, WireEnum { case none, pending, answered }

    public var phase = Phase.none
    /// The time that the app has to answer; nil until the request is presented.
    public var countdown: Countdown?

    public static let none = DelayedRequestState()

    /// Whether the app has not answered yet.
    public var isPending: Bool { phase == .pending }
}

/// The fact that an app gave a credential for a protection space. The state does not contain the secret.
public struct HeldCredential: Record, Equatable {
    /// The identifier of the answered challenge, under which the credential is stored.
    public var id: String
    public var challenge = AuthenticationChallenge()
}

/// A protection space for which a task has no credential because of the app's answer.
public struct DeclinedSpace: Record, Equatable {
    public var challenge = AuthenticationChallenge()
    public var disposition = ChallengeDisposition.performDefaultHandling

    public init(_ challenge: AuthenticationChallenge, _ disposition: ChallengeDisposition) {
        self.challenge = challenge
        self.disposition = disposition
    }
}

/// The fate of the file of a download.
public enum FileFate: String, WireEnum {
    /// The delegate is not yet notified.
    case kept
    /// The delegate is in `didFinishDownloadingTo`.
    case offered
    /// The file belongs to the app.
    case claimed
    /// The callback has returned, and the app did not claim the file.
    case gone
}
