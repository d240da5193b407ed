import Contracts
import Machines
import OrderedCollections
import Timeline

// The connection of a device.
extension Decision<PushMachine> {
    /// Connects by a stream, which replaces a former connection. The stream of a fleet replaces only another one, so that a
    /// client can take over a device.
    mutating func connect(_ connection: String, holder: String?, _ kind: ConnectionKind) throws(PushRefusal) {
        try requireNetwork()
        if kind == .fleet, let own = state.connection, own.kind != .fleet { return }
        endConnection(.replaced)
        emit(.deviceConnected(.init(connection: connection, holder: holder, kind: kind)))
        greet()
    }

    mutating func disconnect(_ connection: String, _ cause: ConnectionEnd) {
        if state.connection?.id == connection { endConnection(cause) }
    }

    /// Polls. Unacknowledged notifications stay in flight between polls, so that each poll returns them again.
    mutating func poll(_ connection: String, _ wait: Interval) throws(PushRefusal) {
        try requireNetwork()
        let until = now + wait + policy.pollGrace
        if let current = state.connection, current.kind == .poll {
            emit(.devicePolled(.init(connection: current.id, until: until)))
        } else {
            endConnection(.replaced)
            emit(.deviceConnected(.init(connection: connection, kind: .poll, until: until)))
            greet()
        }
    }

    mutating func keepAlive() throws(PushRefusal) {
        guard state.isOnline else { throw .notConnected }
        release(.releasedKeepAlive)
        flushStore()
    }

    private func requireNetwork() throws(PushRefusal) {
        guard state.conditions.poweredOn else { throw .deviceOff }
        guard state.conditions.network != .none else { throw .noNetwork }
    }

    /// Sends the notifications that waited for a connection.
    mutating func greet() {
        flushStore()
        releaseWithinBudget()
    }

    /// Ends the connection and stores unacknowledged notifications again, the latest of each app.
    mutating func endConnection(_ cause: ConnectionEnd) {
        guard let connection = state.connection else { return }
        emit(.deviceDisconnected(.init(cause: cause, connection: connection.id)))
        for (id, message) in state.messages where message.stage == .inFlight { store(id, .storedOffline) }
    }
}
