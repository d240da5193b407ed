public import Records

/// What `transfer` tells apart of an app's states.
public enum AppPresence: String, Word {
    case notRunning, foreground, background, suspended

    /// Whether the app's code can run.
    public var isRunning: Bool { self == .foreground || self == .background }

    public init(_ state: AppState) {
        switch state {
        case .notRunning: self = .notRunning
        case .inactive, .active: self = .foreground
        case .background: self = .background
        case .suspended: self = .suspended
        }
    }
}

/// Background sessions know only tasks whose bytes are in files.
public enum TransferKind: String, Word { case download, upload }

/// `URLSessionTask.State`.
public enum TransferState: String, Word { case suspended, running, canceling, completed }

/// Why a running task does not move.
public enum WaitingReason: String, Word {
    case waitingForConnectivity, waitingForWiFi, waitingForPower, waitingForBeginDate
    /// It was started in a wake, and wakes come too often: the resume-rate limiter.
    case rateLimited
    /// After a failed attempt.
    case backingOff
    /// The app has to answer a challenge first.
    case waitingForAuthentication
    /// `httpMaximumConnectionsPerHost` are in use.
    case queuedPerHost
}

/// How an attempt ended.
public enum AttemptEnd: String, Word {
    case finished
    case connectionLost, timedOut, cannotConnect, hostNotFound
    case tooManyRedirects, originNotAllowed, cannotWrite
    /// The server, or its certificate, asks for what only the app can give.
    case authenticationRequired
    /// The server's certificate is not trusted, and the app does not know it either.
    case serverUntrusted
    /// TLS failed for another reason than trust.
    case secureConnectionFailed
    /// The bytes are not those that `Repr-Digest` promised.
    case digestMismatch
    /// The file that was to be sent is no longer there.
    case fileMissing
    /// The server's answer does not fit the bytes that are there: they are dropped.
    case resourceChanged
    /// The network, or what else the task needs, went away.
    case conditionsLost
    case suspended, cancelled
    /// `timeoutIntervalForResource` has passed.
    case expired
    /// The process that moved it is gone.
    case moverLost
}

/// How the wake for a session's events ended.
public enum TransferWakeOutcome: String, Word {
    case completed, refused
    /// The app's process ended first.
    case terminated
}

/// `NSURLProtectionSpace.authenticationMethod`, as far as it is known here.
public enum AuthenticationMethod: String, Word {
    case basic, digest, bearer
    /// The certificate of the server is not trusted; the app may know it.
    case serverTrust
}

/// `URLSession.AuthChallengeDisposition`.
public enum ChallengeDisposition: String, Word {
    case useCredential, performDefaultHandling, cancelAuthenticationChallenge, rejectProtectionSpace
}
