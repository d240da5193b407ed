import Contracts
import OrderedCollections
import Records
import Timeline

/// The stored form of version 1. Types that are not declared here have not changed since.
struct Version1: Record {
    var isRegistered = false
    var fleet: String?
    var isPoweredOn = true
    var battery = Battery()
    var isLowPowerMode = false
    var network = Network()
    var apps: OrderedDictionary<String, App> = [:]
    var sessions: OrderedDictionary<String, Session> = [:]

    struct App: Record {
        var state = AppPresence.notRunning
        var forceQuit = false
    }

    struct Session: Record {
        var app = ""
        var configuration = SessionConfiguration()
        var isAttached = false
        var isInvalidated = false
        var wake = BackgroundSession.WakeState.none
        var hasNews = false
        var lastTask = 0
        var tasks: [Task] = []
        var undelivered: [Int] = []
    }

    struct Task: Record {
        var task = 0
        var kind = TransferKind.download
        var request = Request()
        var isDiscretionary = false
        var state = TransferState.running
        var deadline = Instant.epoch
        var file = ""
        var waiting: Waiting?
        var waitsUntil: Instant?
        var epoch = 0
        var attempt: Attempt?
        var segments: [Segment] = []
        var response: ResponseHead?
        var bytesExpected: Int?
        var failures = 0
        var retryAt: Instant?
        var attempts: [AttemptRecord] = []
        var error: Failure?
        var sha256: String?
    }

    struct Request: Record {
        var earliestBeginDate: Instant?
        var headers: OrderedDictionary<String, String> = [:]
        var priority = 0.5
        var url = ""
    }

    struct AttemptRecord: Record {
        var startedAt = Instant.epoch
        var from = 0
        var to = 0
        var end: Nullable<End> = nil
    }

    struct Failure: Record {
        var code = 0
        var domain = ""
        var reason: Int?
    }

    // Enum values are stored by index. A value that was inserted later shifted the others.

    enum Waiting: String, WireEnum {
        case waitingForConnectivity, waitingForWiFi, waitingForPower, waitingForBeginDate, backingOff, queuedPerHost
    }

    enum End: String, WireEnum {
        case finished, connectionLost, timedOut, cannotConnect, hostNotFound, tooManyRedirects, originNotAllowed
        case cannotWrite, resourceChanged, conditionsLost, suspended, cancelled, expired, workerLost
    }
}
