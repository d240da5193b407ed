import Glibc
import NIOCore

extension SocketAddress {
    /// Whether an address is on the public internet: not multicast, and not in IANA's registries of special-purpose
    /// addresses (RFC 6890) for private, local, shared, reserved, documentation or translation use, nor a cloud's own.
    ///
    /// An IPv6 address with an IPv4 address, mapped or with the well-known prefix, is public if the IPv4 address is.
    var isPublic: Bool {
        ipAddress.flatMap { bytes(of: $0) }.map { Self.isPublic($0) } ?? false
    }

    private static func isPublic(_ address: [UInt8]) -> Bool {
        if translations.contains(where: { $0.contains(address) }) { return isPublic(Array(address[12...])) }
        if address.count == 16, !globalUnicast.contains(address) { return false }
        return !special.contains { $0.contains(address) }
    }

    /// The global unicast addresses assigned so far (RFC 4291 section 2.4). They exclude `::`, `::1`, IPv4-compatible
    /// addresses, the local-use translation prefix, the discard prefix, segment routing, unique-local, link-local and
    /// multicast.
    private static let globalUnicast = AddressBlock("2000::", 3)

    private static let translations = [AddressBlock("::ffff:0.0.0.0", 96), AddressBlock("64:ff9b::", 96)]

    private static let special = [
        // "This network", private use, shared (RFC 6598), loopback, link-local.
        AddressBlock("0.0.0.0", 8), AddressBlock("10.0.0.0", 8), AddressBlock("100.64.0.0", 10),
        AddressBlock("127.0.0.0", 8), AddressBlock("169.254.0.0", 16), AddressBlock("172.16.0.0", 12),
        // Protocol assignments, documentation, former 6to4 relays, private use, benchmarks, documentation.
        AddressBlock("192.0.0.0", 24), AddressBlock("192.0.2.0", 24), AddressBlock("192.88.99.0", 24),
        AddressBlock("192.168.0.0", 16), AddressBlock("198.18.0.0", 15), AddressBlock("198.51.100.0", 24),
        AddressBlock("203.0.113.0", 24),
        // The metadata of virtual machines of Azure: public by its number, but inside each of its networks.
        // Source: Microsoft, "What is IP address 168.63.129.16?".
        AddressBlock("168.63.129.16", 32),
        // Multicast, and reserved addresses with broadcast.
        AddressBlock("224.0.0.0", 4), AddressBlock("240.0.0.0", 4),
        // Protocol assignments with Teredo, documentation, 6to4, documentation.
        AddressBlock("2001::", 23), AddressBlock("2001:db8::", 32), AddressBlock("2002::", 16),
        AddressBlock("3fff::", 20),
    ]
}

/// A block of addresses with a common prefix.
private struct AddressBlock {
    private let first: [UInt8]
    private let bits: Int

    init(_ first: String, _ bits: Int) {
        guard let bytes = bytes(of: first) else { preconditionFailure("\(first) is not an address") }
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

/// Returns the 4 or 16 bytes of an address in text form.
private func bytes(of address: String) -> [UInt8]? {
    let isLong = address.contains(":")
    var bytes = [UInt8](repeating: 0, count: isLong ? 16 : 4)
    return inet_pton(isLong ? AF_INET6 : AF_INET, address, &bytes) == 1 ? bytes : nil
}
