public import Contracts
import OrderedCollections
import Records
public import Timeline

extension PushMachine {
    /// The number of inactive tokens that a device remembers.
    static let retiredLimit = 32
    /// The largest number of shown notifications of a device; the oldest is removed first. Our choice.
    public static let shownLimit = 50

    public mutating func apply(_ event: PushEvent, at time: Instant) {
        switch event {
        case .deviceUpdated(let event):
            isKnown = true
            fleet = event.fleet
            profile = event.profile
            simulate = event.simulate
            summaryTimes = event.summaryTimes
            timeZone = event.timeZone
        case .deviceErased: retired = []
        case .deviceRemoved:
            let retired = retired
            self = PushMachine()
            self.retired = retired
        case .conditionsChanged(let event): conditions = event
        case .appUpdated(let event):
            guard let app = event.app else { return }
            apps[app, default: PushedApp()].note(event)
        case .presenceChanged(let event):
            guard let app = event.app else { return }
            apps[app]?.state = event.state
            if let usedAt = event.usedAt { apps[app]?.usedAt = usedAt }
        case .appRemoved(let event): if let app = event.app { apps.removeValue(forKey: app) }
        case .throttleChanged(let event): isThrottled = event.enabled
        case .deviceConnected(let event):
            connection = PushConnection(id: event.connection, kind: event.kind, since: time, until: event.until)
        case .devicePolled(let event): connection?.until = event.until
        case .deviceDisconnected: connection = nil
        case .tokenRegistered(let event): apply(event, at: time)
        case .tokenUnregistered(let event): apply(event, at: time)
        case .channelsChanged(let event): if let app = event.app { apps[app]?.channels = event.channels }
        case .categoriesChanged(let event): if let app = event.app { apps[app]?.categories = event.categories }
        case .budgetChanged(let event):
            if let app = event.app { apps[app]?.budget.fullAt = event.fullAt }
            day = event.day
            spentToday = max(0, event.spentToday)
            change(event.notification) { $0.charged = event.charged }
        case .notificationReceived(let event): apply(event)
        case .notificationDelivered(let event):
            change(event.notification) {
                $0.stage = .inFlight
                $0.due = nil
                $0.fromStorage = event.fromStorage
                $0.deliveredAt = time
                $0.quiet = event.quiet
                $0.summaryAt = event.summaryAt
                $0.willPresent = event.willPresent
                $0.extensionDeadline = event.extensionDeadline
                if event.extensionDeadline != nil { $0.serviceExtension = .running }
            }
            charge(event)
        case .notificationStored(let event):
            change(event.notification) {
                $0.stage = .stored
                $0.due = event.due
                $0.waitsForPower = event.status == .storedPower
                $0.stopExtension()
            }
        case .notificationHeld(let event):
            // An alert that waits for the summary keeps its stage: the device has it.
            guard event.status != .heldSummary else { return }
            change(event.notification) {
                $0.stage = .held
                $0.due = event.until
            }
        case .notificationReleased(let event):
            // An acknowledged notification is not sent again: its release only requests a wake.
            change(event.notification) { if $0.onDevice { $0.stage = .acknowledged } }
        case .notificationReplaced(let event): remove(event.notification)
        case .notificationOpened(let event): remove(event.notification)
        case .notificationResponded(let event): remove(event.notification)
        case .notificationDismissed(let event): remove(event.notification)
        // The device does not learn of it.
        case .notificationRefused: break
        case .notificationDiscarded(let event): messages.removeValue(forKey: event.notification)
        case .notificationAcknowledged(let event):
            change(event.notification) {
                $0.onDevice = true
                guard $0.stage != .held else { return }
                $0.stage = .acknowledged
                // An ordinary notification has requested its wake. A silent one may request another after a refusal,
                // which needs the payload.
                if !$0.silent, $0.serviceExtension != .running { $0.dropPayload() }
            }
            settle(event.notification)
        case .notificationPresented(let event):
            change(event.notification) {
                $0.isPresented = true
                $0.summaryAt = nil
                $0.willPresent = false
                if event.cause == .willPresent || event.cause == .summary { $0.quiet = false }
            }
            settle(event.notification)
        case .notificationModified(let event):
            if let category = event.content.categoryIdentifier {
                change(event.notification) { $0.category = category.isEmpty ? nil : category }
            }
            if let badge = event.content.badge { change(event.notification) { $0.badge = badge } }
            endExtension(event.notification, willPresent: event.willPresent)
        case .notificationUnmodified(let event): endExtension(event.notification, willPresent: event.willPresent)
        case .liveActivityStarted(let event): apply(event, at: time)
        case .liveActivityUpdated(let event): apply(event)
        case .liveActivityStale(let event): apply(event)
        case .liveActivityEnded(let event): apply(event)
        case .liveActivityDismissed(let event): apply(event)
        case .wakeRequested(let event): change(event.notification) { $0.wake = .requested }
        case .wakeGranted(let event):
            change(event.notification) { message in
                message.wake = .granted
                // A granted wake delivers a silent notification to its app.
                guard message.silent else { return }
                message.stage = .acknowledged
                message.onDevice = true
                message.dropPayload()
            }
        case .wakeCompleted(let event): endWake(event.notification)
        case .wakeEnded(let event): endWake(event.notification)
        case .wakeRefused(let event):
            change(event.notification) {
                $0.wake = .none
                $0.willPresent =
                    $0.isForUser && !$0.isPresented && $0.summaryAt == nil && event.refusal == .inForeground
            }
            // A later event decides about the others: it shows, holds or discards them.
            if event.refusal == .inForeground || messages[event.notification]?.endsWithRefusal == true {
                settle(event.notification)
            }
        }
    }

    private mutating func remove(_ notification: String) {
        messages.removeValue(forKey: notification)
        shown.removeAll { $0.id == notification }
    }

    private mutating func change(_ notification: String, _ body: (inout PushMessage) -> Void) {
        guard let index = messages.index(forKey: notification) else { return }
        body(&messages.values[index])
    }

    /// Removes an acknowledged notification without a wake. Shows it if it has an alert, and if its wake is over or runs
    /// beside the alert. While the app is on screen, an alert that `willPresent` did not choose to show is not shown.
    private mutating func settle(_ notification: String) {
        guard let message = messages[notification], message.stage == .acknowledged else { return }
        guard message.serviceExtension != .running, message.summaryAt == nil else { return }
        let isOver = message.wake == .none
        if isOver { messages.removeValue(forKey: notification) }
        guard message.isForUser, !message.willPresent, isOver || message.isPresented else { return }
        guard let settings = apps[message.app]?.notifications, settings.showsAlerts else { return }
        guard !shown.contains(where: { $0.id == notification }) else { return }
        for crowded in shown.dropLast(Self.shownLimit - 1) { messages.removeValue(forKey: crowded.id) }
        shown = shown.suffix(Self.shownLimit - 1) + [ShownNotification(notification, message, settings)]
    }

    private mutating func endExtension(_ notification: String, willPresent: Bool) {
        change(notification) {
            $0.serviceExtension = .ended
            $0.extensionDeadline = nil
            $0.willPresent = willPresent
            if $0.stage == .acknowledged { $0.dropPayload() }
        }
        settle(notification)
    }

    private mutating func endWake(_ notification: String) {
        change(notification) { $0.wake = .none }
        settle(notification)
    }

    private mutating func apply(_ event: PushEvent.TokenRegistered, at time: Instant) {
        guard let app = event.app else { return }
        apps[app]?.tokens.removeAll { $0.kind == event.kind && $0.activity == event.activity }
        apps[app]?.tokens.append(
            TokenRegistration(
                activity: event.activity, at: time, environment: event.environment, kind: event.kind,
                token: event.token))
    }

    private mutating func apply(_ event: PushEvent.TokenUnregistered, at time: Instant) {
        guard let app = event.app else { return }
        let token = RetiredToken(
            app: app, at: time, environment: event.environment, kind: event.kind, token: event.token)
        retired = retired.suffix(Self.retiredLimit - 1) + [token]
        apps[app]?.tokens.removeAll { $0.kind == event.kind && $0.activity == event.activity }
        guard event.kind == .apns else { return }
        for shown in shown where shown.app == app { messages.removeValue(forKey: shown.id) }
        shown.removeAll { $0.app == app }
        apps[app]?.channels = []
    }

    private mutating func apply(_ event: PushEvent.NotificationReceived) {
        messages[event.notification] = PushMessage(
            activity: event.activity, app: event.app ?? "", apnsID: event.apnsID,
            badge: PushMessage.badge(event.payload), bytes: event.payload.bytes.count,
            category: PushMessage.category(event.payload), channel: event.channel, collapseID: event.collapseID,
            expiresAt: event.until,
            isForUser: PushMessage.isForUser(event.pushType, event.payload),
            interruptionLevel: PushMessage.interruptionLevel(event.payload), kind: event.kind,
            needsPermission: PushMessage.needsPermission(event.pushType, event.payload),
            neverStored: event.neverStored, payload: event.payload, priority: event.priority, pushType: event.pushType,
            relevanceScore: PushMessage.relevanceScore(event.payload), silent: event.silent,
            threadID: PushMessage.threadID(event.payload))
    }
}

extension PushMessage {
    /// Stops a running service extension. The next delivery runs it again.
    fileprivate mutating func stopExtension() {
        if serviceExtension == .running { serviceExtension = .none }
        extensionDeadline = nil
    }

    fileprivate mutating func dropPayload() {
        payload = .null
        bytes = 0
    }
}

extension PushedApp {
    fileprivate mutating func note(_ event: PushEvent.AppUpdated) {
        hasServiceExtension = event.hasServiceExtension
        notifications = event.notifications
        state = event.state
        usedAt = event.usedAt
        wakes = event.wakes
    }
}
