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

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("isRegistered", &isRegistered)
        fields.omittable("fleet", &fleet)
        fields.field("isPoweredOn", &isPoweredOn)
        fields.field("battery", &battery)
        fields.field("isLowPowerMode", &isLowPowerMode)
        fields.field("network", &network)
        fields.field("apps", &apps)
        fields.field("sessions", &sessions)
    }

    struct App: Record {
        var state = AppPresence.notRunning
        var forceQuit = false

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("state", &state)
            fields.field("forceQuit", &forceQuit)
        }
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
        var untold: [Int] = []

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("configuration", &configuration)
            fields.field("isAttached", &isAttached)
            fields.field("isInvalidated", &isInvalidated)
            fields.field("wake", &wake)
            fields.field("hasNews", &hasNews)
            fields.field("lastTask", &lastTask)
            fields.field("tasks", &tasks)
            fields.field("untold", &untold)
        }
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

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("task", &task)
            fields.field("kind", &kind)
            fields.field("request", &request)
            fields.field("isDiscretionary", &isDiscretionary)
            fields.field("state", &state)
            fields.field("deadline", &deadline)
            fields.field("file", &file)
            fields.omittable("waiting", &waiting)
            fields.omittable("waitsUntil", &waitsUntil)
            fields.field("epoch", &epoch)
            fields.omittable("attempt", &attempt)
            fields.field("segments", &segments)
            fields.omittable("response", &response)
            fields.omittable("bytesExpected", &bytesExpected)
            fields.field("failures", &failures)
            fields.omittable("retryAt", &retryAt)
            fields.field("attempts", &attempts)
            fields.omittable("error", &error)
            fields.omittable("sha256", &sha256)
        }
    }

    struct Request: Record {
        var url = ""
        var headers: OrderedDictionary<String, String> = [:]
        var earliestBeginDate: Instant?
        var priority = 0.5

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.omittable("earliestBeginDate", &earliestBeginDate)
            fields.field("headers", &headers)
            fields.field("priority", &priority)
            fields.field("url", &url)
        }
    }

    struct AttemptRecord: Record {
        var startedAt = Instant.epoch
        var from = 0
        var to = 0
        var end: End?

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("startedAt", &startedAt)
            fields.field("from", &from)
            fields.field("to", &to)
            fields.field("end", &end)
        }
    }

    struct Failure: Record {
        var code = 0
        var domain = ""
        var reason: Int?

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("code", &code)
            fields.field("domain", &domain)
            fields.omittable("reason", &reason)
        }
    }

    // Enum values are stored by index. A value that was inserted later shifted the others.

    enum Waiting: String, Word {
        case waitingForConnectivity, waitingForWiFi, waitingForPower, waitingForBeginDate, backingOff, queuedPerHost
    }

    enum End: String, Word {
        case finished, connectionLost, timedOut, cannotConnect, hostNotFound, tooManyRedirects, originNotAllowed
        case cannotWrite, resourceChanged, conditionsLost, suspended, cancelled, expired, moverLost
    }
}
