import Contracts
import Machines
import OrderedCollections
import Timeline

// Built-in devices: the machine itself connects the device and acknowledges its notifications, without latency. A client
// that connects replaces this connection, and the machine connects again when the client has left.
extension PushMachine {
    /// The behaviour of the built-in device while it holds the connection; nil otherwise.
    var connectedBuiltIn: BuiltInDevice? { connection?.kind == .builtIn ? simulate : nil }

    /// Returns the time at which a service extension on a built-in device returns the unchanged content; nil if none
    /// runs.
    func extensionAnswer(_ message: PushMessage) -> Instant? {
        guard let device = connectedBuiltIn, message.serviceExtension == .running, message.stage == .inFlight else {
            return nil
        }
        return message.deliveredAt.map { $0 + device.answers.after }
    }
}

extension Decision<PushMachine> {
    /// Connects a built-in device, answers its notifications and opens them.
    mutating func actAsDevice() {
        guard state.simulate != nil || state.connection?.kind == .builtIn else { return }
        connectBuiltIn()
        guard let device = state.connectedBuiltIn else { return }
        for id in state.messages.keys { answer(id) }
        guard device.opens == .atOnce, state.conditions.poweredOn else { return }
        for shown in state.shown { open(shown) }
    }

    private mutating func connectBuiltIn() {
        let isWanted = state.simulate?.online == true
        if !isWanted, state.connection?.kind == .builtIn { endConnection(.closed) }
        guard isWanted, state.connection == nil, state.hasNetwork else { return }
        emit(.deviceConnected(.init(connection: identifier(), kind: .builtIn)))
        greet()
    }

    /// Acknowledges a delivered notification. `willPresent` chooses to show it. A service extension returns first.
    private mutating func answer(_ id: String) {
        if let message = state.messages[id], let due = state.extensionAnswer(message) {
            guard due <= now else { return }
            endExtension(of: id, .unchanged)
        }
        guard let message = state.messages[id], message.stage == .inFlight else { return }
        if message.willPresent, profile.has(.userNotificationCenter),
            state.apps[message.app]?.state.isRunning == true
        {
            present(id, message, .willPresent)
        }
        acknowledge(id)
    }

    private mutating func open(_ shown: ShownNotification) {
        // The device is on and shows the notification, so nothing refuses it.
        do throws(PushRefusal) { try open(shown.id) } catch { return }
    }
}
