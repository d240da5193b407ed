public import NIOCore
import Synchronization

/// Limits the connections of each client address.
///
/// Beyond the limit, a small reserve answers probes. The server closes every other new connection at once.
/// An IPv6 client has a whole network of addresses, so the first 64 bits count as one address.
public final class AddressLimit: Sendable {
    /// The admission of a connection.
    enum Admission: Sendable {
        case full
        /// Beyond the limit: for one short request.
        case reserve
        case refused
    }

    /// The number of connections in an address's reserve.
    static let reserve = 16
    /// The time that a connection of the reserve gets for its request.
    static let reservePatience = TimeAmount.seconds(2)

    private let limit: Int
    private let open = Mutex<[[UInt8]: Int]>([:])

    /// - Parameter limit: the connections of each address; 0 means no limit.
    public init(_ limit: Int) { self.limit = limit }

    /// Counts a connection until it is closed.
    func admit(_ channel: any Channel, reserve: Int = AddressLimit.reserve) -> Admission {
        guard limit > 0, let key = channel.clientAddress?.network else { return .full }
        let admission = enter(key, reserve: reserve)
        if admission != .refused { channel.closeFuture.whenComplete { _ in self.leave(key) } }
        return admission
    }

    /// Counts a connection until it closes, for a port without a reserve.
    ///
    /// - Returns: false if its address has reached the limit.
    public func admitFully(_ channel: any Channel) -> Bool { admit(channel, reserve: 0) == .full }

    func enter(_ key: [UInt8], reserve: Int = AddressLimit.reserve) -> Admission {
        open.withLock { open in
            let count = open[key, default: 0]
            guard count < limit + reserve else { return .refused }
            open[key] = count + 1
            return count < limit ? .full : .reserve
        }
    }

    func leave(_ key: [UInt8]) {
        open.withLock { open in
            guard let count = open[key], count > 1 else { return open[key] = nil }
            open[key] = count - 1
        }
    }
}

extension SocketAddress {
    /// The key of the client: the four bytes of an IPv4 address, or the first eight of an IPv6 address; nil for a local
    /// socket.
    var network: [UInt8]? {
        switch self {
        case .v4: return bytes(4..<8)
        case .v6:
            let bytes = bytes(8..<24)
            // An IPv4 client of a dual-stack socket (RFC 4291 section 2.5.5.2).
            let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
            return isMapped ? Array(bytes.suffix(4)) : Array(bytes.prefix(8))
        case .unixDomainSocket: return nil
        }
    }

    /// The 4 bytes of an IPv4 address, also of a client of a dual-stack socket, or the 16 of an IPv6 address; nil for a
    /// local socket.
    var addressBytes: [UInt8]? {
        guard let network else { return nil }
        return network.count == 4 ? network : bytes(8..<24)
    }

    /// Returns bytes of `sockaddr_in` or `sockaddr_in6`, whose addresses have the same offsets on every system.
    private func bytes(_ range: Range<Int>) -> [UInt8] {
        withSockAddr { address, size in Array(UnsafeRawBufferPointer(start: address, count: size)[range]) }
    }
}
