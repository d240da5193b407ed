import Glibc
import NIOCore
import NIOPosix

/// All addresses of a host, by preference; none where it is not found. A host is a name, or an address in any notation.
typealias Resolver = @Sendable (_ host: String) async throws -> [SocketAddress]

/// What the system resolves a host to. It takes every notation of an address that a connection would take: `0x7f.1` too.
@Sendable func resolveBySystem(_ host: String) async throws -> [SocketAddress] {
    // Blocks, and so it runs there.
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
