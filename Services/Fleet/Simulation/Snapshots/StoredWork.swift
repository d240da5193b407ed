import Contracts
import Records
import Scenarios
import Timeline

/// The name of a case of ``Work``.
enum StoredWorkKind: String, WireEnum {
    case begin, beginFault, endFault, connect, acknowledge, modify, present, openNotification, leave, lock, receive
    case startUp, completeWake, completeCallback, crash, returnFromDownload, startTransfer, startActivity, stopActivity
    case askForNotifications, submitContinuedTask, continueTask
}

/// Scheduled work in a snapshot.
struct StoredWork: Record {
    var app: Int?
    var at = Instant.epoch
    var callback: Callback?
    var kind = StoredWorkKind.begin
    /// The order of scheduling.
    var number = 0
    /// The number of parts of a continued processing task.
    var parts: Int?
    var push: StoredSentPush?
    var reason: WakeReason?
    var result: HandlerResult?
    var run: Int?
    var task: TaskKey?
    /// A notification, a wake or a session.
    var text: String?
    /// A fault, a use, a plan, a task, a part or a number of bytes.
    var value: Int?
}

/// A push on its way to the push service in a snapshot.
struct StoredSentPush: Record {
    var id = ""
    var item = 0
    var sentAt = Instant.epoch
    var token = ""

    init(_ push: SentPush) { (id, item, sentAt, token) = (push.id, push.item, push.sentAt, push.token) }

    var push: SentPush { SentPush(id: id, token: token, sentAt: sentAt, item: item) }
}

extension StoredWork {
    init(_ work: Scheduled<Work>) {
        (at, number, app, run) = (work.at, work.number, work.app, work.run)
        switch work.kind {
        case .begin: kind = .begin
        case .beginFault(let fault): (kind, value) = (.beginFault, fault)
        case .endFault(let fault): (kind, value) = (.endFault, fault)
        case .connect: kind = .connect
        case .acknowledge(let id): (kind, text) = (.acknowledge, id)
        case .modify(let id): (kind, text) = (.modify, id)
        case .present(let id): (kind, text) = (.present, id)
        case .openNotification(let id): (kind, text) = (.openNotification, id)
        case .leave(let use): (kind, value) = (.leave, use)
        case .lock: kind = .lock
        case .receive(let sent): (kind, push) = (.receive, StoredSentPush(sent))
        case .startUp: kind = .startUp
        case .completeWake(let wake, let reason, let result, let bytes):
            (kind, text, self.reason, self.result, value) = (.completeWake, wake, reason, result, bytes)
        case .completeCallback(let callback): (kind, self.callback) = (.completeCallback, callback)
        case .crash: kind = .crash
        case .returnFromDownload(let session, let task): (kind, text, value) = (.returnFromDownload, session, task)
        case .startTransfer(let plan): (kind, value) = (.startTransfer, plan)
        case .startActivity: kind = .startActivity
        case .stopActivity: kind = .stopActivity
        case .askForNotifications: kind = .askForNotifications
        case .submitContinuedTask: kind = .submitContinuedTask
        case .continueTask(let wake, let part, let parts):
            (kind, text, value, self.parts) = (.continueTask, wake, part, parts)
        }
    }

    /// The work; nil if a value is missing.
    var work: Scheduled<Work>? {
        guard let kind = scheduledKind else { return nil }
        return Scheduled(at: at, number: number, app: app, run: run, kind: kind)
    }

    private var scheduledKind: Work? {
        switch kind {
        case .begin: .begin
        case .beginFault: value.map { .beginFault($0) }
        case .endFault: value.map { .endFault($0) }
        case .connect: .connect
        case .acknowledge: text.map { .acknowledge($0) }
        case .modify: text.map { .modify($0) }
        case .present: text.map { .present($0) }
        case .openNotification: text.map { .openNotification($0) }
        case .leave: value.map { .leave(use: $0) }
        case .lock: .lock
        case .receive: push.map { .receive($0.push) }
        case .startUp: .startUp
        case .completeWake:
            if let text, let reason, let result, let value {
                .completeWake(text, reason, result, bytes: value)
            } else {
                nil
            }
        case .completeCallback: callback.map { .completeCallback($0) }
        case .crash: .crash
        case .returnFromDownload:
            if let text, let value { .returnFromDownload(session: text, task: value) } else { nil }
        case .startTransfer: value.map { .startTransfer(plan: $0) }
        case .startActivity: .startActivity
        case .stopActivity: .stopActivity
        case .askForNotifications: .askForNotifications
        case .submitContinuedTask: .submitContinuedTask
        case .continueTask:
            if let text, let value, let parts { .continueTask(wake: text, part: value, of: parts) } else { nil }
        }
    }
}
