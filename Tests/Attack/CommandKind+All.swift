import Contracts

// The commands of honest clients. An accepted command makes exactly one event of its types.
extension CommandKind {
    static let conditions = CommandKind(
        name: "conditions", service: .lifecycle, events: [LifecycleEvent.ConditionsChanged.type])
    static let beginTask = CommandKind(
        name: "begin task", service: .lifecycle, events: [LifecycleEvent.TaskBegun.type],
        refusals: ["app_not_running", "restricted"])
    static let endTask = CommandKind(
        name: "end task", service: .lifecycle, events: [LifecycleEvent.TaskEnded.type],
        refusals: ["app_not_running", "invalid_task"])
    static let open = CommandKind(
        name: "launch", service: .lifecycle,
        events: [LifecycleEvent.AppLaunched.type, LifecycleEvent.AppActivated.type], refusals: ["illegal_transition"])
    static let home = CommandKind(
        name: "home", service: .lifecycle, events: [LifecycleEvent.AppBackgrounded.type],
        refusals: ["illegal_transition"])

    static let interval = CommandKind(
        name: "interval", service: .fetch, events: [FetchEvent.IntervalSet.type])
    static let taskRequest = CommandKind(
        name: "task request", service: .fetch, events: [FetchEvent.TaskSubmitted.type])
    static let simulateFetch = CommandKind(
        name: "simulate fetch", service: .fetch, events: [FetchEvent.RefreshDue.type],
        refusals: ["fetch_running", "in_foreground", "force_quit"])

    static let throttle = CommandKind(
        name: "throttle", service: .push, events: [PushEvent.ThrottleChanged.type])
    static let register = CommandKind(
        name: "register", service: .push, events: [PushEvent.TokenRegistered.type])
    static let unregister = CommandKind(
        name: "unregister", service: .push, events: [PushEvent.TokenUnregistered.type])
    static let notifyOverHTTP1 = CommandKind(
        name: "notify, HTTP/1.1", service: .push, events: [PushEvent.NotificationReceived.type])
    static let notifyOverHTTP2 = CommandKind(
        name: "notify, HTTP/2", service: .push, events: [PushEvent.NotificationReceived.type])

    static let broadcast = CommandKind(
        name: "broadcast", service: .push, events: [PushEvent.NotificationReceived.type])

    static let suspendTask = CommandKind(
        name: "suspend task", service: .transfer, events: [TransferEvent.TaskSuspended.type])
    static let resumeTask = CommandKind(
        name: "resume task", service: .transfer, events: [TransferEvent.TaskResumed.type])
    static let download = CommandKind(
        name: "download", service: .transfer, events: [TransferEvent.TaskCreated.type],
        refusals: ["too_many_tasks", "device_full"])
    static let storeFile = CommandKind(
        name: "store file", service: .transfer, events: [TransferEvent.FileStored.type])
}
