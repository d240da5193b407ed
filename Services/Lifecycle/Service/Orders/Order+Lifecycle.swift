import Contracts
import Records
import Timeline

extension OrderContent {
    /// Creates an order with callbacks of the app's delegate, in order; nil if there are none.
    init?(_ callbacks: [Callback], deadline: Instant? = nil, _ data: [JSON.Member] = []) {
        self.init(callbacks.map(\.rawValue), deadline: deadline, data)
    }
}

extension JSON.Member {
    fileprivate init(_ callbacks: [Callback]) {
        self.init("callbacks", .array(callbacks.map { .string($0.rawValue) }))
    }
}

extension LifecycleEvent: OrderGiver {
    /// All types, so that only the switch below lists the events with orders.
    static let orderTypes = Set(catalogue.map(\.type))

    var orderContent: OrderContent? {
        switch self {
        case .appLaunched(let event): OrderContent(event.callbacks, deadline: event.deadline)
        case .appActivated(let event): OrderContent(event.callbacks)
        case .appResigned(let event): OrderContent(event.callbacks, [.init("cause", .string(event.cause.rawValue))])
        case .appBackgrounded(let event):
            OrderContent(
                event.callbacks, deadline: event.deadline,
                [
                    .init("cause", .string(event.cause.rawValue)),
                    .init("taskSeconds", .double(event.taskTime.seconds)),
                ])
        case .appTerminating(let event):
            OrderContent(event.callbacks, deadline: event.deadline, [.init("reason", .string(event.reason.rawValue))])
        case .appWoken(let event): event.orderContent
        case .taskExpiring(let event):
            OrderContent(
                .expiration, "expirationHandler", deadline: event.deadline, [.init("task", .string(event.task))])
        case .wakeExpiring(let event):
            OrderContent(
                .taskExpiration, "expirationHandler", deadline: event.deadline,
                [.init("request", event.request.map { .string($0) } ?? .null), .init("wake", .string(event.wake))])
        case .activityStopped(let event):
            OrderContent(
                event.callbacks,
                [.init("activity", .string(event.activity.rawValue)), .init("cause", .string(event.cause.rawValue))])
        case .regionCrossed(let event): OrderContent(event.callbacks, [.init("region", .string(event.identifier))])
        case .regionStateDetermined(let event):
            OrderContent(event.callbacks, [.init("region", .string(event.identifier))])
        case .monitorEventDelivered(let event):
            OrderContent(
                event.callbacks,
                [
                    .init("condition", .string(event.identifier)), .init("monitor", .string(event.monitor)),
                    .init("state", .string(event.state.rawValue)),
                ])
        case .significantChangeReported(let event): OrderContent(event.callbacks)
        case .bluetoothEventOccurred(let event): OrderContent(event.callbacks)
        case .healthUpdateDelivered(let event):
            OrderContent(event.callbacks, [.init("sampleType", .string(event.sampleType))])
        case .visitReported(let event): OrderContent(event.callbacks)
        case .notificationResponded(let event):
            OrderContent(
                event.callbacks,
                (event.actionIdentifier.map { [JSON.Member("actionIdentifier", .string($0))] } ?? [])
                    + [.init("notification", .string(event.notification))]
                    + (event.userText.map { [JSON.Member("userText", .string($0))] } ?? []))
        case .appSuspended: OrderContent(.suspend, "suspend", [])
        case .appTerminated(let event): event.orderContent
        case .deviceRegistered, .deviceUpdated, .deviceDeregistered, .deviceErased, .deviceRevoked, .deviceTakenOver,
            .deviceGivenBack, .devicePowered, .deviceAwoke, .deviceSlept, .deviceInterrupted,
            .conditionsChanged, .settingsChanged, .backgroundRefreshChanged,
            .appInstalled, .appUninstalled, .appPrewarmed, .callbackCompleted,
            .taskBegun, .taskEnded, .wakeExpired, .wakeCompleted, .wakeRefused, .wakeProgressed, .activityStarted,
            .actionReported,
            .regionMonitored, .beaconRegionMonitored, .regionUnmonitored, .monitorOpened, .monitorConditionAdded,
            .monitorConditionRemoved, .monitorConditionChanged, .significantChangesMonitored,
            .significantChangesUnmonitored,
            .bluetoothManagerStarted, .bluetoothManagerStopped, .visitsMonitored, .visitsUnmonitored,
            .healthDeliveryEnabled, .healthDeliveryDisabled,
            .healthSampleSaved, .notificationAuthorizationDecided, .outageRecorded:
            nil
        }
    }
}

extension LifecycleEvent.AppWoken {
    fileprivate var orderContent: OrderContent {
        OrderContent(
            .wake, callbacks.last?.rawValue ?? reason.rawValue, deadline: state.isForeground ? nil : deadline,
            [
                .init(callbacks), .init("kind", .string((kind?.rawValue ?? reason.rawValue))),
                .init("limitSeconds", .double(limit.seconds)), .init("payload", payload ?? .null),
                .init("reason", .string(reason.rawValue)), .init("request", request.map { .string($0) } ?? .null),
                .init("wake", .string(wake)),
            ])
    }
}

extension LifecycleEvent.AppTerminated {
    /// Nil if there was no process: only the switcher entry was removed.
    fileprivate var orderContent: OrderContent? {
        guard from != .notRunning else { return nil }
        return OrderContent(
            .terminate, "terminate",
            [
                .init(callbacks), .init("code", code.map { .string($0.rawValue) } ?? .null),
                .init("from", .string(from.rawValue)), .init("reason", .string(reason.rawValue)),
            ])
    }
}
