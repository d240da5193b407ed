import Contracts
public import Machines
import OrderedCollections
import Records
import Timeline

extension TransferMachine {
    /// Upgrades older stored forms.
    ///
    /// Version 1 has downloads only. It does not count wakes for a session, and does not know when bytes last arrived
    /// or which progress the delegate has heard of. These start afresh where the log does not contain them. The limiter
    /// counts from the next wake, and the delegate hears of progress from the next bytes. The delegate may hear again
    /// that a wake's events are finished.
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
    /// - Parameter isOfProcess: whether its app runs. Only a running process has the object of an invalidated session.
    fileprivate init(_ old: Version1.Session, isOfProcess: Bool) {
        app = old.app
        configuration = old.configuration
        isAttached = old.isAttached
        isInvalidated = old.isInvalidated && isOfProcess
        wake = old.wake
        hasNews = old.hasNews
        lastTask = old.lastTask
        tasks = old.tasks.map(TransferTask.init)
        untold = old.untold
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
