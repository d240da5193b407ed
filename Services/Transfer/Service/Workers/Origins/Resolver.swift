import Glibc
import NIOCore
import NIOPosix

/// Returns all addresses of a host by preference; none if it is not found. A host is a name or an address in text form.
typealias Resolver = @Sendable (_ host: String) async throws -> [SocketAddress]

/// Resolves a host by the system. It accepts every text form of an address that a connection accepts, even `0x7f.1`.
@Sendable func resolveBySystem(_ host: String) async throws -> [SocketAddress] {
    // `getaddrinfo` blocks its thread.
    try await NIOThreadPool.singleton.runIfActive { addresses(of: host) }
}

private func addresses(of host: String) -> [SocketAddress] {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
    defer { freeaddrinfo(list) }
    var addresses: [SocketAddress] = []
    var next = list
    while let entry = next?.pointee {
        if let address = SocketAddress(entry) { addresses.append(address) }
        next = entry.ai_next
    }
    return addresses
}

extension SocketAddress {
    fileprivate init?(_ entry: addrinfo) {
        guard let address = entry.ai_addr else { return nil }
        switch entry.ai_family {
        case AF_INET:
            self.init(address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { $0.pointee })
        case AF_INET6:
            self.init(address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { $0.pointee })
        default: return nil
        }
    }
}
