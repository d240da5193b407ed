public import NIOCore
import Synchronization

/// The clients of connections that proxies forward.
enum ClientAddresses {
    private static let named = Mutex<[ObjectIdentifier: SocketAddress]>([:])
    /// So that connections of no proxy need no lock.
    private static let count = Atomic(0)

    /// Keeps the client of a connection until it is closed.
    static func set(_ address: SocketAddress, of channel: any Channel) {
        let id = ObjectIdentifier(channel)
        named.withLock { $0[id] = address }
        count.add(1, ordering: .relaxed)
        channel.closeFuture.whenComplete { _ in
            named.withLock { $0[id] = nil }
            count.subtract(1, ordering: .relaxed)
        }
    }

    static func address(of channel: any Channel) -> SocketAddress? {
        guard count.load(ordering: .relaxed) > 0 else { return nil }
        return named.withLock { $0[ObjectIdentifier(channel)] }
    }
}

extension Channel {
    /// The address of the client: what a trusted proxy tells, else the other end of the connection.
    public var clientAddress: SocketAddress? { ClientAddresses.address(of: self) ?? remoteAddress }
}
