import Glibc
import NIOCore

extension SocketAddress {
    /// Whether an address is of the public internet: none of those that IANA's registries of special-purpose addresses
    /// (RFC 6890) keep for private, local, shared, reserved, documentary or translating use, and no multicast.
    ///
    /// IPv4 in an IPv6 address, mapped or translated by the well-known prefix, is as public as itself.
    var isPublic: Bool {
        switch self {
        case .v4(let address):
            Self.isPublic(withUnsafeBytes(of: address.address.sin_addr) { Array($0) })
        case .v6(let address):
            // Of a link, not of the internet.
            address.address.sin6_scope_id == 0
                && Self.isPublic(withUnsafeBytes(of: address.address.sin6_addr) { Array($0) })
        case .unixDomainSocket: false
        }
    }

    private static func isPublic(_ address: [UInt8]) -> Bool {
        if translations.contains(where: { $0.contains(address) }) { return isPublic(Array(address[12...])) }
        if address.count == 16, !globalUnicast.contains(address) { return false }
        return !special.contains { $0.contains(address) }
    }

    /// What IPv6 has given out so far (RFC 4291 section 2.4). Outside of it are `::`, `::1`, IPv4-compatible addresses, the
    /// local-use translation prefix, the discard prefix, segment routing, unique-local, link-local and multicast.
    private static let globalUnicast = AddressBlock("2000::", 3)

    private static let translations = [AddressBlock("::ffff:0.0.0.0", 96), AddressBlock("64:ff9b::", 96)]

    private static let special = [
        // "This network", private use, shared (RFC 6598), loopback, link-local.
        AddressBlock("0.0.0.0", 8), AddressBlock("10.0.0.0", 8), AddressBlock("100.64.0.0", 10),
        AddressBlock("127.0.0.0", 8), AddressBlock("169.254.0.0", 16), AddressBlock("172.16.0.0", 12),
        // Protocol assignments, documentation, the former relays of 6to4, private use, benchmarks, documentation.
        AddressBlock("192.0.0.0", 24), AddressBlock("192.0.2.0", 24), AddressBlock("192.88.99.0", 24),
        AddressBlock("192.168.0.0", 16), AddressBlock("198.18.0.0", 15), AddressBlock("198.51.100.0", 24),
        AddressBlock("203.0.113.0", 24),
        // Multicast; reserved, with broadcast.
        AddressBlock("224.0.0.0", 4), AddressBlock("240.0.0.0", 4),
        // Protocol assignments with Teredo, documentation, 6to4, documentation.
        AddressBlock("2001::", 23), AddressBlock("2001:db8::", 32), AddressBlock("2002::", 16),
        AddressBlock("3fff::", 20),
    ]
}

/// Addresses that begin alike.
private struct AddressBlock {
    private let first: [UInt8]
    private let bits: Int

    init(_ first: String, _ bits: Int) {
        var bytes = [UInt8](repeating: 0, count: first.contains(":") ? 16 : 4)
        let isAddress = inet_pton(first.contains(":") ? AF_INET6 : AF_INET, first, &bytes) == 1
        precondition(isAddress, "\(first) is no address")
        self.first = bytes
        self.bits = bits
    }

    func contains(_ address: [UInt8]) -> Bool {
        guard address.count == first.count else { return false }
        let whole = bits / 8
        guard address[..<whole] == first[..<whole] else { return false }
        guard bits % 8 > 0 else { return true }
        return (address[whole] ^ first[whole]) >> (8 - bits % 8) == 0
    }
}
