public import Records
import Synchronization

/// The statistics of a run.
public struct Counts: Sendable, Equatable {
    public var devices = 0
    public var requests = 0
    public var retries = 0
    public var launches = 0
    public var suspensions = 0
    /// Orders by kind.
    public var orders: [String: Int] = [:]
    /// Orders that a stream delivered again.
    public var repeatedOrders = 0
    public var wakesCompleted = 0
    /// Terminations of apps by code or reason.
    public var kills: [String: Int] = [:]
    public var tasksBegun = 0
    public var downloads = 0
    public var bytes = 0
    public var uploads = 0
    /// Uploads that continued from resume data.
    public var continuedUploads = 0
    /// Answers to Push to Talk pushes.
    public var talks = 0
    public var notifications = 0
    public var pushes = 0
    /// Refusals of the provider endpoint by reason.
    public var pushRefusals: [String: Int] = [:]
    /// Refusals of the services by problem code. Refusals are normal and not errors.
    public var refusals: [String: Int] = [:]
    public var streamsOpened = 0
    /// Requests without a response, and responses that report an invalid request.
    public var errors = 0
    /// Acknowledged versions and callbacks that the suite lost.
    public var lostOrders = 0
    /// Routes that a service does not have.
    public var notOffered: Set<String> = []
    /// The number of each forbidden response, by description.
    public var violationTexts: [String: Int] = [:]
    /// Descriptions of other faults.
    public var complaints: [String] = []

    public init() {}

    /// The number of forbidden responses.
    public var violations: Int { violationTexts.values.reduce(0, +) }

    /// Whether the suite passed: no forbidden response and no lost data.
    public var isGood: Bool { violations == 0 && lostOrders == 0 }

    public var orderCount: Int { orders.values.reduce(0, +) }
    public var killCount: Int { kills.values.reduce(0, +) }

    /// The summary as JSON.
    public var document: JSON {
        func object(_ counts: [String: Int]) -> JSON {
            .object(counts.sorted { $0.key < $1.key }.map { JSON.Member($0.key, .int($0.value)) })
        }
        return [
            "devices": .int(devices), "requests": .int(requests), "retries": .int(retries),
            "launches": .int(launches), "suspensions": .int(suspensions), "orders": object(orders),
            "repeatedOrders": .int(repeatedOrders), "wakesCompleted": .int(wakesCompleted), "kills": object(kills),
            "tasksBegun": .int(tasksBegun), "downloads": .int(downloads), "bytes": .int(bytes),
            "uploads": .int(uploads), "continuedUploads": .int(continuedUploads), "talks": .int(talks),
            "notifications": .int(notifications), "pushes": .int(pushes), "pushRefusals": object(pushRefusals),
            "refusals": object(refusals), "streamsOpened": .int(streamsOpened), "errors": .int(errors),
            "lostOrders": .int(lostOrders), "notOffered": .array(notOffered.sorted().map { .string($0) }),
            "complaints": .array(complaints.map { .string($0) }), "violations": .int(violations),
            "violationTexts": object(violationTexts),
            "ok": .bool(isGood),
        ]
    }
}

/// The thread-safe holder of the statistics.
public final class RunStatistics: Sendable {
    private let state = Mutex(Counts())

    public init() {}

    /// A copy of the current statistics.
    public var counts: Counts { state.withLock { $0 } }

    func note(_ change: (inout Counts) -> Void) { state.withLock { change(&$0) } }

    /// Counts a forbidden response.
    func violation(_ text: String) {
        note { $0.violationTexts[text, default: 0] += 1 }
    }

    /// Counts a new or repeated order.
    func order(_ order: Order, isNew: Bool) {
        note { counts in
            guard isNew else { return counts.repeatedOrders += 1 }
            counts.orders[order.kind.rawValue, default: 0] += 1
            switch order.kind {
            case .suspend: counts.suspensions += 1
            case .terminate:
                let code = order.data["code"]?.string ?? order.data["reason"]?.string
                counts.kills[code ?? (order.name.isEmpty ? "unknown" : order.name), default: 0] += 1
            case .callback, .wake, .expiration, .challenge, .transferProgress, .taskExpiration: break
            }
        }
    }

    /// Counts a successful action.
    func done(_ action: Action, _ document: JSON) {
        note { counts in
            switch action {
            case .transition(_, "launch"): counts.launches += 1
            case .changeLocation, .monitorSignificantChanges, .requestAuthorization, .startWaiting, .occur: break
            case .completeWake(_, _, let result):
                counts.wakesCompleted += 1
                if result["pushResult"] != nil { counts.talks += 1 }
            case .beginTask: counts.tasksBegun += 1
            case .download: counts.downloads += 1
            case .upload: counts.uploads += 1
            case .continueUpload: counts.continuedUploads += 1
            case .report, .transition, .swipe, .look, .acknowledge, .modify, .open, .reply, .keepAlive,
                .completeCallback, .endTask, .openSession, .storeFile, .pauseUpload, .joinChannel, .setInterval,
                .answerChallenge, .register, .setCategories, .export, .cancelExport, .reportProgress:
                break
            }
        }
    }
}

extension RunStatistics {
    /// Counts a fault that does not fail the run. The summary lists the text once.
    func complain(_ text: String) {
        note {
            $0.errors += 1
            if !$0.complaints.contains(text), $0.complaints.count < 20 { $0.complaints.append(text) }
        }
    }
}
