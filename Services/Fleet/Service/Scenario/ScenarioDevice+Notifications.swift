import Contracts
import Records
import Scenarios
import Timeline

// The connection to `push`, and the notifications of the device.
extension ScenarioDevice {
    /// Opens the stream of notifications.
    func connect() async throws(CancellationError) {
        isConnecting = false
        guard !isConnected, isReachable else { return }
        connection += 1
        isConnected = true
        await world.streams.open(self, connection)
    }

    /// Takes a notification from the stream: schedules its acknowledgement or what the app does before it.
    ///
    /// - Parameter number: the number of the connection.
    func receive(_ notification: DeliveredNotification, from number: Int) {
        guard number == connection else { return }
        world.statistics.note { $0.notifications += 1 }
        let id = notification.identifier
        let time = notification.deliveredAt ?? now
        unshown[id] = notification
        if notification.runsExtension {
            schedule(.modify(id), after: DeviceTimes.serviceExtension, from: time)
        } else {
            let offers = notification.willPresent && profile.has(.userNotificationCenter)
            schedule(offers ? .present(id) : .acknowledge(id), after: DeviceTimes.answer, from: time)
        }
        countDelivery()
    }

    func acknowledge(_ id: String) async throws(CancellationError) {
        let route = "/notifications/{notification}/ack"
        guard try await call(.push, "POST", route, [id]) != nil, let notification = unshown[id] else { return }
        unshown[id] = nil
        guard !notification.isSilent, !notification.willPresent else { return }
        try await considerOpening(id, of: notification)
    }

    /// The service extension returns its content.
    func modify(_ id: String) async throws(CancellationError) {
        let route = "/notifications/{notification}/content"
        guard let answer = try await call(.push, "POST", route, [id], ["body": "changed"]) else { return }
        if answer["willPresent"]?.bool == true { schedule(.present(id), after: DeviceTimes.answer) }
    }

    /// The app on screen lets the device show the alert.
    func present(_ id: String) async throws(CancellationError) {
        let route = "/notifications/{notification}/presentation"
        let options: JSON = ["options": ["banner", "list"]]
        guard try await call(.push, "POST", route, [id], options) != nil, let notification = unshown[id] else { return }
        unshown[id] = nil
        try await considerOpening(id, of: notification)
    }

    /// The person may open a notification that was just shown. An alert with a wake is shown after its handler.
    private func considerOpening(
        _ id: String, of notification: DeliveredNotification
    ) async throws(CancellationError) {
        if notification.wakes {
            let status = try await status(of: id, notification.app)
            guard status == .acknowledged || status == .presented else { return }
        }
        var random = draw(.answers)
        guard let wait = group.notifications.opening(&random) else { return }
        schedule(.openNotification(id, app: notification.app), after: wait)
    }

    /// Reads the latest status of a notification; nil if `push` does not list it.
    private func status(of id: String, _ app: String) async throws(CancellationError) -> ConsoleStatus? {
        var request = Call(.push, "GET", "/v1/devices/{device}/apps/{app}/notifications", [name, app])
        request.query = "limit=100"
        let items = try await perform(request)?["items"]?.items ?? []
        let text = items.first { $0["id"]?.string == id }?["status"]?.string
        return text.flatMap(ConsoleStatus.init(rawValue:))
    }

    /// The person opens a notification that is shown, with the device unlocked, and uses the app.
    func openNotification(_ id: String, of app: String) async throws(CancellationError) {
        guard isPoweredOn, try await status(of: id, app)?.isOfShown == true else { return }
        try await unlock(try await state())
        guard try await call(.push, "POST", "/notifications/{notification}/opened", [id]) != nil else { return }
        uses += 1
        var random = draw(.answers)
        schedule(.leave(use: uses), after: group.habits.stay.drawn(&random))
    }

    /// Notes a new device token of an app.
    func take(_ token: String, _ kind: String, of app: Int) {
        guard let kind = TokenKind(rawValue: kind), apps[app].tokens[kind] != token else { return }
        apps[app].tokens[kind] = token
        world.tokens.add(
            ScenarioToken(device: name, app: scenario.apps[app].id, kind: kind.rawValue, token: token))
    }

    /// The app registers for pushes of a kind.
    func register(_ kind: TokenKind, of app: Int) async throws(CancellationError) {
        let document: JSON = ["environment": "sandbox", "kind": .string(kind.rawValue)]
        let answer = try await call(.push, "PUT", "/apps/{app}/registration", [scenario.apps[app].id], document)
        if let token = answer?["token"]?.string { take(token, kind.rawValue, of: app) }
    }
}

extension ConsoleStatus {
    /// Whether the device shows an alert whose latest status this is.
    fileprivate var isOfShown: Bool {
        switch self {
        case .acknowledged, .presented, .modified, .unmodified, .completed, .wakeEnded, .wakeRefused, .wakeNotAwaited:
            true
        default: false
        }
    }
}
