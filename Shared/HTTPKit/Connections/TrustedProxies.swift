public import NIOCore

/// The proxies that tell the addresses of their clients by the PROXY protocol, version 1 or 2
/// (https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt).
///
/// A header of anyone else is not read as one, so no client can choose its address.
public struct TrustedProxies: Sendable, Equatable {
    private let networks: [AddressRange]

    /// Trusts nobody.
    public init() { networks = [] }

    /// Reads addresses and networks, separated by commas, such as `10.0.0.0/8,fd00::1`.
    ///
    /// - Returns: nil for an invalid one.
    public init?(_ text: String) {
        var networks: [AddressRange] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let network = AddressRange(part.filter { $0 != " " }) else { return nil }
            networks.append(network)
        }
        self.networks = networks
    }

    /// Whether the other end of a connection is one of them.
    public func include(_ address: SocketAddress?) -> Bool {
        guard !networks.isEmpty, let bytes = address?.addressBytes else { return false }
        return networks.contains { $0.includes(bytes) }
    }

    /// Finds out the client of a new connection of a proxy, then adds the handlers of the connection. Call it on the event
    /// loop of the connection.
    ///
    /// - Parameters:
    ///   - time: the time for the header; after it the connection is closed.
    ///   - body: adds the handlers. They get all bytes after the header.
    /// - Returns: a future that also fails if the connection is closed first, or if its header is invalid.
    public func identify<Value: Sendable>(
        _ channel: any Channel, within time: TimeAmount, _ body: @escaping () throws -> EventLoopFuture<Value>
    ) -> EventLoopFuture<Value> {
        do {
            guard include(channel.remoteAddress) else { return try body() }
            return try ProxyHeaderHandler.client(of: channel, within: time).assumeIsolated().flatMap { finding in
                if let address = finding.value.client { ClientAddresses.set(address, of: channel) }
                let added: EventLoopFuture<Value>
                do { added = try body() } catch {
                    channel.close(promise: nil)
                    return channel.eventLoop.makeFailedFuture(error)
                }
                finding.value.release()
                return added
            }.nonisolated()
        } catch {
            channel.close(promise: nil)
            return channel.eventLoop.makeFailedFuture(error)
        }
    }
}

/// A network, or one address.
struct AddressRange: Sendable, Equatable {
    /// 4 or 16 bytes.
    private let bytes: [UInt8]
    /// The number of bits that an address must share.
    private let prefix: Int

    /// Reads an address with an optional `/` and the length of the prefix; returns nil if it is invalid.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let bytes = (try? SocketAddress(ipAddress: String(parts[0]), port: 0))?.addressBytes else { return nil }
        self.bytes = bytes
        guard parts.count == 2 else {
            prefix = bytes.count * 8
            return
        }
        guard let prefix = Int(parts[1]), (0...bytes.count * 8).contains(prefix) else { return nil }
        self.prefix = prefix
    }

    func includes(_ other: [UInt8]) -> Bool {
        guard other.count == bytes.count else { return false }
        let (whole, rest) = prefix.quotientAndRemainder(dividingBy: 8)
        guard bytes.prefix(whole) == other.prefix(whole) else { return false }
        return rest == 0 || bytes[whole] >> (8 - rest) == other[whole] >> (8 - rest)
    }
}
