import Contracts
import Foundation
import Records

/// An order or a notification that a device has not answered.
struct OpenOrder: Hashable {
    enum Kind: Hashable {
        case callback, wake, expiration, taskExpiration, notification
        /// A callback of a transfer: a challenge, a delayed request, a finished download.
        case transfer
    }

    var app: String
    var kind: Kind
    /// The callback, or the id of the wake, task, notification or transfer.
    var name: String
}

/// The event that gave an order.
struct OrderBegin {
    var event: UUID
    /// The real time at which the event was read.
    var readAt: ContinuousClock.Instant
}

/// The orders with a deadline and the notifications that devices have not answered, by the events of the log.
struct OpenOrders {
    /// The open orders of each device.
    private(set) var devices: [AggregateKey: [OpenOrder: OrderBegin]] = [:]

    /// The types of events that give or end these orders.
    static let types: Set<String> = [
        LifecycleEvent.DeviceDeregistered.type, LifecycleEvent.AppLaunched.type, LifecycleEvent.AppActivated.type,
        LifecycleEvent.AppBackgrounded.type, LifecycleEvent.AppTerminating.type, LifecycleEvent.AppTerminated.type,
        LifecycleEvent.CallbackCompleted.type, LifecycleEvent.TaskExpiring.type, LifecycleEvent.TaskEnded.type,
        LifecycleEvent.AppWoken.type, LifecycleEvent.WakeExpiring.type, LifecycleEvent.WakeCompleted.type,
        LifecycleEvent.WakeExpired.type,
        PushEvent.NotificationDelivered.type, PushEvent.NotificationAcknowledged.type,
        PushEvent.NotificationStored.type, PushEvent.NotificationReplaced.type, PushEvent.NotificationDiscarded.type,
        PushEvent.WakeGranted.type, PushEvent.DeviceRemoved.type,
        TransferEvent.DownloadFinished.type, TransferEvent.DownloadReturned.type,
        TransferEvent.ChallengePresented.type, TransferEvent.ChallengeAnswered.type,
        TransferEvent.DelayedRequestPresented.type, TransferEvent.DelayedRequestAnswered.type,
        TransferEvent.TaskCompleted.type,
    ]

    /// Applies an event. It ignores events that it can't read.
    mutating func take(_ event: Event, at moment: ContinuousClock.Instant) {
        guard Self.types.contains(event.type) else { return }
        func read<Family: EventFamily>(_ family: Family.Type) -> Family? {
            try? Family(type: event.type, version: event.version, data: event.data)
        }
        var orders = devices[event.key] ?? [:]
        let begin = OrderBegin(event: event.id, readAt: moment)
        switch event.source {
        case LifecycleEvent.source: read(LifecycleEvent.self).map { orders.take($0, begin) }
        case PushEvent.source: read(PushEvent.self).map { orders.take($0, begin) }
        case TransferEvent.source: read(TransferEvent.self).map { orders.take($0, begin) }
        default: return
        }
        devices[event.key] = orders.isEmpty ? nil : orders
    }

    /// Removes an order that the device does not answer.
    mutating func giveUp(_ order: OpenOrder, of device: AggregateKey) {
        devices[device]?[order] = nil
        if devices[device]?.isEmpty == true { devices[device] = nil }
    }
}

extension [OpenOrder: OrderBegin] {
    private mutating func open(
        _ kind: OpenOrder.Kind, _ name: String, of app: String?, _ begin: OrderBegin
    ) {
        self[OpenOrder(app: app ?? "", kind: kind, name: name)] = begin
    }

    private mutating func close(_ kind: OpenOrder.Kind, _ name: String, of app: String?) {
        self[OpenOrder(app: app ?? "", kind: kind, name: name)] = nil
    }

    private mutating func close(_ kinds: Set<OpenOrder.Kind>, of app: String?) {
        self = filter { !($0.key.app == app ?? "" && kinds.contains($0.key.kind)) }
    }

    fileprivate mutating func take(_ event: LifecycleEvent, _ begin: OrderBegin) {
        switch event {
        case .deviceDeregistered: self = filter { $0.key.kind == .notification }
        case .appLaunched(let event):
            guard event.deadline != nil else { return }
            open(.callback, Callback.didFinishLaunching.rawValue, of: event.app, begin)
        case .appActivated(let event): close([.callback], of: event.app)
        case .appBackgrounded(let event):
            guard event.deadline != nil, let callback = event.callbacks.last else { return }
            open(.callback, callback.rawValue, of: event.app, begin)
        case .appTerminating(let event):
            close([.callback, .expiration], of: event.app)
            open(.callback, Callback.willTerminate.rawValue, of: event.app, begin)
        case .appTerminated(let event):
            close([.callback, .expiration, .wake, .taskExpiration], of: event.app)
        case .callbackCompleted(let event): close(.callback, event.callback.rawValue, of: event.app)
        case .taskExpiring(let event): open(.expiration, event.task, of: event.app, begin)
        case .taskEnded(let event): close(.expiration, event.task, of: event.app)
        case .appWoken(let event): open(.wake, event.wake, of: event.app, begin)
        case .wakeExpiring(let event): open(.taskExpiration, event.wake, of: event.app, begin)
        case .wakeCompleted(let event): closeWake(event.wake, of: event.app)
        case .wakeExpired(let event): closeWake(event.wake, of: event.app)
        default: return
        }
    }

    private mutating func closeWake(_ wake: String, of app: String?) {
        close(.wake, wake, of: app)
        close(.taskExpiration, wake, of: app)
    }

    fileprivate mutating func take(_ event: PushEvent, _ begin: OrderBegin) {
        switch event {
        // A delivery needs a connection.
        case .notificationDelivered(let event): open(.notification, event.notification, of: event.app, begin)
        case .notificationAcknowledged(let event): close(.notification, event.notification, of: event.app)
        case .notificationStored(let event): close(.notification, event.notification, of: event.app)
        case .notificationReplaced(let event): close(.notification, event.notification, of: event.app)
        case .notificationDiscarded(let event): close(.notification, event.notification, of: event.app)
        // A granted wake delivers a silent notification to its app.
        case .wakeGranted(let event): if event.arrived { close(.notification, event.notification, of: event.app) }
        case .deviceRemoved: self = filter { $0.key.kind != .notification }
        default: return
        }
    }

    fileprivate mutating func take(_ event: TransferEvent, _ begin: OrderBegin) {
        switch event {
        case .downloadFinished(let event): openTransfer("file", event, begin)
        case .downloadReturned(let event): closeTransfer("file", event)
        case .challengePresented(let event): openTransfer("challenge", event, begin)
        case .challengeAnswered(let event): closeTransfer("challenge", event)
        case .delayedRequestPresented(let event): openTransfer("request", event, begin)
        case .delayedRequestAnswered(let event): closeTransfer("request", event)
        case .taskCompleted(let event):
            closeTransfer("challenge", event)
            closeTransfer("request", event)
        default: return
        }
    }

    private mutating func openTransfer(
        _ what: String, _ event: some TransferTaskEventData, _ begin: OrderBegin
    ) {
        open(.transfer, event.orderName(what), of: event.app, begin)
    }

    private mutating func closeTransfer(_ what: String, _ event: some TransferTaskEventData) {
        close(.transfer, event.orderName(what), of: event.app)
    }
}

extension TransferTaskEventData {
    fileprivate func orderName(_ what: String) -> String { "\(what) \(session) \(task)" }
}
