public import Records

/// The state of an app as `push` and `transfer` distinguish it.
public enum AppPresence: String, WireEnum {
    case notRunning, foreground, background, suspended

    /// Whether the app's code can run.
    public var isRunning: Bool { self == .foreground || self == .background }

    /// Creates the presence of an app from its state in `lifecycle`.
    public init(_ state: AppState) {
        switch state {
        case .notRunning: self = .notRunning
        case .inactive, .active: self = .foreground
        case .background: self = .background
        case .suspended: self = .suspended
        }
    }
}

/// The kind of a task. Background sessions allow only tasks with files.
public enum TransferKind: String, WireEnum { case download, upload }

/// `URLSessionTask.State`.
public enum TransferState: String, WireEnum { case suspended, running, canceling, completed }

/// The reason why a running task waits.
public enum WaitingReason: String, WireEnum {
    case waitingForConnectivity, waitingForWiFi, waitingForPower, waitingForBeginDate
    /// The task was created during a wake, and wakes are too frequent: the resume-rate limiter.
    case rateLimited
    /// The task waits for the retry of a failed attempt.
    case backingOff
    /// The app must answer a challenge first.
    case waitingForAuthentication
    /// The app must answer `willBeginDelayedRequest` or `willPerformHTTPRedirection` first.
    case waitingForDelegate
    /// `httpMaximumConnectionsPerHost` are in use.
    case queuedPerHost
}

/// The way in which an attempt ended.
public enum AttemptEnd: String, WireEnum {
    case finished
    case connectionLost, timedOut, cannotConnect, hostNotFound
    case tooManyRedirects, originNotAllowed, cannotWrite
    /// The server or its certificate requires an answer of the app.
    case authenticationRequired
    /// Neither the system nor the app trusts the server's certificate.
    case serverUntrusted
    /// The delegate must decide about a redirect first.
    case redirected
    /// TLS failed for a reason other than trust.
    case secureConnectionFailed
    /// The received bytes do not match `Repr-Digest`.
    case digestMismatch
    /// The file to send no longer exists.
    case fileMissing
    /// The response does not match the stored bytes, which are dropped. For an upload: the server has lost the bytes.
    case resourceChanged
    /// The server could not say how many bytes of an upload it has, or did not take the rest.
    case uploadNotReady
    /// The network or another condition of the task was lost.
    case conditionsLost
    case suspended, cancelled
    /// `timeoutIntervalForResource` has passed.
    case expired
    /// The transfer worker of the attempt ended.
    case workerLost
}

/// The way in which the wake for a session's events ended.
public enum TransferWakeOutcome: String, WireEnum {
    case completed, refused
    /// The process of the app ended first.
    case terminated
}

/// The supported values of `NSURLProtectionSpace.authenticationMethod`.
public enum AuthenticationMethod: String, WireEnum {
    case basic, digest
    /// The system does not trust the server's certificate, but the app may trust it.
    case serverTrust
}

/// `URLSession.AuthChallengeDisposition`.
public enum ChallengeDisposition: String, WireEnum {
    case useCredential, performDefaultHandling, cancelAuthenticationChallenge, rejectProtectionSpace
}

/// `URLSession.DelayedRequestDisposition`.
public enum DelayedRequestDisposition: String, WireEnum { case continueLoading, useNewRequest, cancel }

/// The answer to `willPerformHTTPRedirection`.
public enum RedirectDisposition: String, WireEnum {
    /// The task continues with the proposed request.
    case follow
    /// The delegate passes no request: the redirecting response is the response of the task.
    case refuse
}

/// The process that is connected to a background session.
public enum SessionProcess: String, WireEnum { case app, appExtension }

/// The reason why the system cancelled a task (`URLError.BackgroundTaskCancelledReason`).
public enum CancellationReason: String, WireEnum {
    case userForceQuitApplication, backgroundUpdatesDisabled, insufficientSystemResources

    /// The value of `NSURLErrorBackgroundTaskCancelledReasonKey`, from `NSURLError.h`.
    public var number: Int {
        switch self {
        case .userForceQuitApplication: 0
        case .backgroundUpdatesDisabled: 1
        case .insufficientSystemResources: 2
        }
    }
}
