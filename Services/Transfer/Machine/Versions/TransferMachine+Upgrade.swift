import Contracts
public import Machines
import OrderedCollections
import Records
import Timeline

extension TransferMachine {
    /// Upgrades older stored forms.
    ///
    /// Version 1 has only downloads. It lacks the wakes of a session, the time of the last bytes and the progress that
    /// the delegate already has. These fields start empty if the log does not contain them. The limiter counts from the
    /// next wake, and the delegate gets progress from the next bytes. The delegate may get a second
    /// `urlSessionDidFinishEvents` in a wake.
    public static func upgraded(_ binary: [UInt8], from version: Int) -> Upgrade<TransferMachine>? {
        switch version {
        case 1: Version1(binary: binary).map { .partial(TransferMachine($0)) }
        default: nil
        }
    }

    private init(_ old: Version1) {
        isRegistered = old.isRegistered
        fleet = old.fleet
        isPoweredOn = old.isPoweredOn
        battery = old.battery
        isLowPowerMode = old.isLowPowerMode
        network = old.network
        apps = old.apps.mapValues { old in
            var app = AppView()
            app.state = old.state
            app.forceQuit = old.forceQuit
            return app
        }
        let apps = apps
        sessions = old.sessions.mapValues { BackgroundSession($0, isOfProcess: apps[$0.app]?.state != .notRunning) }
    }
}

extension BackgroundSession {
    /// - Parameter isOfProcess: Whether the app runs. An invalidated session exists only in a running process.
    fileprivate init(_ old: Version1.Session, isOfProcess: Bool) {
        app = old.app
        configuration = old.configuration
        isAttached = old.isAttached
        isInvalidated = old.isInvalidated && isOfProcess
        wake = old.wake
        hasNews = old.hasNews
        lastTask = old.lastTask
        tasks = old.tasks.map(TransferTask.init)
        undelivered = old.undelivered
    }
}

extension TransferTask {
    fileprivate init(_ old: Version1.Task) {
        task = old.task
        kind = old.kind
        request = TransferRequest(url: old.request.url)
        request.headers = old.request.headers
        request.earliestBeginDate = old.request.earliestBeginDate
        request.priority = old.request.priority
        isDiscretionary = old.isDiscretionary
        state = old.state
        deadline = old.deadline
        file = old.file
        waiting = old.waiting.flatMap { WaitingReason(rawValue: $0.rawValue) }
        waitsUntil = old.waitsUntil
        epoch = old.epoch
        attempt = old.attempt
        segments = old.segments
        response = old.response
        bytesExpected = old.bytesExpected
        failures = old.failures
        retryAt = old.retryAt
        attempts = old.attempts.map { old in
            var record = AttemptRecord()
            record.startedAt = old.startedAt
            record.from = old.from
            record.to = old.to
            record.end = old.end.flatMap { AttemptEnd(rawValue: $0.rawValue) }
            return record
        }
        error = old.error.map { old in
            var error = TransferFailure(code: old.code, reason: old.reason)
            error.domain = old.domain
            return error
        }
        sha256 = old.sha256
    }
}
