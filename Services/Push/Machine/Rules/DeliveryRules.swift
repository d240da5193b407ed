import Contracts
import Machines
import OrderedCollections
import Records
import Timeline

// Store and forward: what is sent, what waits, what is given up.
extension Decision<PushMachine> {
    mutating func receive(_ push: IncomingPush) throws(PushRefusal) {
        let app = try owner(of: push)
        let latest = now + policy.storage
        emit(
            .notificationReceived(
                .init(
                    app: app, apnsID: push.apnsID, collapseID: push.collapseID, neverStored: push.neverStored,
                    notification: push.notification, payload: push.payload, priority: push.priority,
                    pushType: push.pushType, silent: PushMessage.isSilent(push.payload), topic: push.topic,
                    until: min(push.expiration ?? latest, latest))))
        makeRoom(for: push.notification)
        route(push.notification)
    }

    /// Sends a received notification on its way, or says where it waits.
    mutating func route(_ id: String) {
        guard let message = state.messages[id], let app = state.apps[message.app] else { return }
        guard !message.needsPermission || app.notifications == .on else {
            return discard(id, .discardedDisabled)
        }
        guard state.isOnline else { return store(id, .storedOffline) }
        if message.silent {
            routeSilent(id, message, app)
            return flushIfAwake()
        }
        guard message.priority == 10 || state.isPowerFriendly else { return store(id, .storedPower) }
        send(id)
        flushStore()
    }

    /// Sends everything stored, in order of arrival: a moment at which the device is awake.
    mutating func flushStore() {
        for (id, message) in state.messages where message.place == .stored {
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
        collapse(into: id, message)
        deliver(id, message, fromStorage: fromStorage)
        // What announces a call wakes without asking for the mode: whether the app may is for `lifecycle` to say.
        let isCall = message.pushType == .voip
        guard message.contentAvailable || isCall, message.wake == .none else { return }
        if app.wakes || isCall, !app.foreground {
            requestWake(id, message)
        } else {
            present(id, message, .notWoken)
        }
    }

    mutating func deliver(_ id: String, _ message: PushMessage, fromStorage: Bool) {
        emit(
            .notificationDelivered(
                .init(
                    app: message.app, apnsID: message.apnsID, channel: message.channel,
                    collapseID: message.collapseID, fromStorage: fromStorage,
                    notification: id, payload: message.payload, priority: message.priority, pushType: message.pushType,
                    silent: message.silent, status: fromStorage ? .deliveredFromStorage : .delivered)))
    }

    /// Puts a notification into the one slot of its app, or of the app's channel that it came by: of two, the one that came
    /// first goes. What may not be stored is given up.
    mutating func store(_ id: String, _ status: ConsoleStatus) {
        guard let message = state.messages[id] else { return }
        guard !message.neverStored, message.expiresAt > now else { return discard(id, .discardedExpired) }
        // The window is the app's: one that takes the place of another waits for the rest of it, or nothing would ever go.
        let begun = state.messages.values.first {
            $0.place == .stored && $0.waitsForPower && $0.app == message.app && $0.channel == message.channel
        }
        guard keepsNewest(id, message, in: .stored) else { return }
        // Priority 1 never wakes a device: only a moment at which it is awake lets it go.
        let waits = status == .storedPower && message.priority == 5
        let end = now + policy.batchingWindow
        let due = waits ? min(begun?.due ?? end, end) : nil
        emit(
            .notificationStored(
                .init(
                    app: message.app, due: due, notification: id, pushType: message.pushType, status: status,
                    until: message.expiresAt)))
    }

    /// Lets the newest of an app have its slot: what is there gives way, unless it came later.
    ///
    /// - Returns: whether the slot is the notification's.
    mutating func keepsNewest(_ id: String, _ message: PushMessage, in slot: PushMessage.Place) -> Bool {
        guard let order = state.messages.index(forKey: id) else { return false }
        for (other, occupant) in state.messages
        where other != id && occupant.app == message.app && occupant.place == slot
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

    mutating func discard(_ id: String, _ status: ConsoleStatus, refusal: WakeRefusal? = nil) {
        guard let message = state.messages[id] else { return }
        emit(
            .notificationDiscarded(
                .init(
                    app: message.app, notification: id, pushType: message.pushType, refusal: refusal, status: status)))
    }

    /// Gives up what waited until its expiration.
    mutating func expire() {
        for (id, message) in state.messages where message.expiresAt <= now {
            guard message.place == .stored || message.place == .held else { continue }
            discard(id, .discardedExpired)
        }
    }

    /// Keeps the unsettled payloads of a device within their room: what waits longest goes first, then what a device that does
    /// not acknowledge was sent. What the user or the app has is not given up: at last its wake is not awaited any more.
    mutating func makeRoom(for newest: String) {
        var bytes = state.messages.values.reduce(0) { $0 + $1.cost }
        let room = min(policy.backlogBytes, policy.stateBytes - state.standingCost)
        let places: [[PushMessage.Place]] = [[.stored, .held], [.inFlight], [.acknowledged]]
        for (id, message) in places.flatMap({ places in state.messages.filter { places.contains($0.value.place) } })
        where id != newest && bytes > room {
            bytes -= message.cost
            // The app of a silent one that is not woken yet has nothing of it.
            if message.place == .acknowledged, !message.silent || message.wake == .granted {
                abandonWake(id, message)
            } else {
                discard(id, .discardedStorageFull)
            }
        }
    }

    mutating func acknowledge(_ id: String) {
        guard let message = state.messages[id], message.deliveredAt != nil else { return }
        guard !message.onDevice else { return }
        emit(.notificationAcknowledged(.init(app: message.app, notification: id, pushType: message.pushType)))
    }
}
