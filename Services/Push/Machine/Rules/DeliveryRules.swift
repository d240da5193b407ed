import Contracts
import Machines
import OrderedCollections
import Records
import Timeline

// Store and forward: delivery, storage and discarding.
extension Decision<PushMachine> {
    mutating func receive(_ push: IncomingPush) throws(PushRefusal) {
        let (app, token) = try owner(of: push)
        let latest = now + policy.storage
        emit(
            .notificationReceived(
                .init(
                    activity: token.activity, app: app, apnsID: push.apnsID, collapseID: push.collapseID,
                    forUser: PushMessage.isForUser(push.pushType, push.payload), kind: token.kind,
                    neverStored: push.neverStored, notification: push.notification,
                    payload: push.payload, priority: push.priority, pushType: push.pushType,
                    silent: PushMessage.isSilent(push.pushType, push.payload), topic: push.topic,
                    until: min(push.expiration ?? latest, latest))))
        makeRoom(for: push.notification)
        route(push.notification)
    }

    /// Records a refused push. The provider has its answer from the refusal of ``receive(_:)``.
    mutating func refuse(_ push: IncomingPush, _ status: ConsoleStatus) {
        emit(
            .notificationRefused(
                .init(
                    app: push.app, apnsID: push.apnsID, collapseID: push.collapseID,
                    forUser: PushMessage.isForUser(push.pushType, push.payload), notification: push.notification,
                    priority: push.priority, pushType: push.pushType,
                    silent: PushMessage.isSilent(push.pushType, push.payload), status: status, topic: push.topic)))
    }

    /// Sends, stores, holds or discards a received notification.
    mutating func route(_ id: String) {
        guard let message = state.messages[id], let app = state.apps[message.app] else { return }
        guard knows(message.pushType) else {
            return discard(id, .discardedNotWoken, refusal: .unsupportedOnProfile)
        }
        if let obstacle = obstacle(to: message, app.notifications) { return discard(id, obstacle) }
        guard state.isOnline else { return store(id, .storedOffline) }
        if message.silent {
            routeSilent(id, message, app)
            return flushIfAwake()
        }
        guard message.priority == 10 || state.isPowerFriendly else { return store(id, .storedPower) }
        send(id)
        flushStore()
    }

    /// Sends all stored notifications in order of arrival, because the device is awake.
    mutating func flushStore() {
        for (id, message) in state.messages where message.stage == .stored {
            if message.silent {
                state.apps[message.app].map { routeSilent(id, message, $0, fromStorage: true) }
            } else {
                send(id, fromStorage: true)
            }
        }
        ridePiggyback()
    }

    /// Sends an ordinary notification.
    private mutating func send(_ id: String, fromStorage: Bool = false) {
        guard let message = state.messages[id], let app = state.apps[message.app] else { return }
        if let obstacle = obstacle(to: message, app.notifications) { return discard(id, obstacle) }
        guard !isOverBudget(message) else { return discard(id, .discardedThrottled) }
        collapse(into: id, message)
        deliver(id, message, fromStorage: fromStorage)
        // Calls and Push to Talk need no declared mode to request a wake: `lifecycle` decides about the app.
        guard message.wakesApp, message.wake == .none, !app.foreground else { return }
        guard app.wakes || message.isForApp else { return present(id, message, .notWoken) }
        guard message.isForApp || !hasManyWakes(message.app) else { return present(id, message, .manyWakes) }
        if message.needsPermission, !waitsForHandler { present(id, message, .atOnce) }
        requestWake(id, message)
    }

    mutating func deliver(_ id: String, _ message: PushMessage, fromStorage: Bool) {
        let quietCause = quietCause(of: message)
        emit(
            .notificationDelivered(
                .init(
                    app: message.app, apnsID: message.apnsID, arrived: arrivesOnScreen(message),
                    channel: message.channel, collapseID: message.collapseID,
                    extensionDeadline: extensionDeadline(of: message), fromStorage: fromStorage,
                    fullAt: fullAt(after: message),
                    notification: id, payload: message.payload, priority: message.priority, pushType: message.pushType,
                    quiet: quietCause != nil, quietCause: quietCause, silent: message.silent,
                    status: fromStorage ? .deliveredFromStorage : .delivered, summaryAt: summaryTime(of: message),
                    willPresent: willPresent(message))))
    }

    /// Stores a notification in the slot of its app or channel, where it replaces an older one. Discards a notification
    /// that may not be stored.
    mutating func store(_ id: String, _ status: ConsoleStatus) {
        guard let message = state.messages[id] else { return }
        guard !message.neverStored, message.expiresAt > now else { return discard(id, .discardedExpired) }
        // The batching window belongs to the app: a replacement inherits the deadline, or frequent ones would delay it
        // forever.
        let begun = state.messages.values.first {
            $0.stage == .stored && $0.waitsForPower && $0.app == message.app && $0.channel == message.channel
        }
        guard keepsNewest(id, message, in: .stored) else { return }
        // Priority 1 never wakes a device, so it has no deadline.
        let waits = status == .storedPower && message.priority == 5
        let end = now + policy.batchingWindow
        let due = waits ? min(begun?.due ?? end, end) : nil
        emit(
            .notificationStored(
                .init(
                    app: message.app, due: due, notification: id, pushType: message.pushType, status: status,
                    until: message.expiresAt)))
    }

    /// Gives the slot of an app to the newest notification, and replaces the other one.
    ///
    /// - Returns: whether the notification gets the slot.
    mutating func keepsNewest(_ id: String, _ message: PushMessage, in slot: PushMessage.Stage) -> Bool {
        guard let order = state.messages.index(forKey: id) else { return false }
        for (other, occupant) in state.messages
        where other != id && occupant.app == message.app && occupant.stage == slot
            && (slot != .stored || occupant.channel == message.channel)
        {
            if state.messages.index(forKey: other).map({ $0 > order }) ?? false {
                replace(id, message, by: other)
                return false
            }
            replace(other, occupant, by: id)
        }
        return true
    }

    mutating func discard(
        _ id: String, _ status: ConsoleStatus, refusal: WakeRefusal? = nil, end: EndReason? = nil
    ) {
        guard let message = state.messages[id] else { return }
        emit(
            .notificationDiscarded(
                .init(
                    app: message.app, end: end, notification: id, pushType: message.pushType, refusal: refusal,
                    status: status)))
    }

    /// Discards waiting notifications at their expiration.
    mutating func expire() {
        for (id, message) in state.messages where message.expiresAt <= now {
            guard message.stage == .stored || message.stage == .held else { continue }
            discard(id, .discardedExpired)
        }
    }

    /// Keeps unsettled notifications within the limit. Discards the oldest waiting ones first, then those in flight,
    /// then silent ones without a granted wake. Other acknowledged ones are not discarded: the machine stops waiting
    /// for their wake.
    ///
    /// - Parameter newest: a notification that is kept.
    mutating func makeRoom(for newest: String? = nil) {
        var bytes = state.messages.values.reduce(0) { $0 + $1.cost }
        let room = min(policy.backlogBytes, policy.stateBytes - state.standingCost)
        let stages: [[PushMessage.Stage]] = [[.stored, .held], [.inFlight], [.acknowledged]]
        for (id, message) in stages.flatMap({ stages in state.messages.filter { stages.contains($0.value.stage) } })
        where id != newest && bytes > room {
            bytes -= message.cost
            // Before the wake, the app has nothing of a silent notification.
            if message.stage == .acknowledged, !message.silent || message.wake == .granted {
                endExtension(of: id, .notAwaited)
                if let rest = state.messages[id], rest.wake != .none { abandonWake(id, rest) }
                if let rest = state.messages[id], rest.summaryAt != nil { presentIfPermitted(id, rest, .notAwaited) }
            } else {
                discard(id, .discardedStorageFull)
            }
        }
    }

    mutating func acknowledge(_ id: String) {
        guard let message = state.messages[id], message.deliveredAt != nil else { return }
        guard !message.onDevice else { return }
        if let obstacle = obstacle(to: message) { return discard(id, obstacle) }
        emit(
            .notificationAcknowledged(
                .init(
                    app: message.app, arrived: message.arrivesAcknowledged, notification: id,
                    pushType: message.pushType)))
        holdForSummary(id)
        take(id, message)
    }
}
