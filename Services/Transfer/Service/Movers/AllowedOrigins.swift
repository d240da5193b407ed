import Glibc
import NIOCore
import NIOPosix
import ServiceKit
import TransferMachine

/// Where this service fetches from on behalf of callers. Origins that are listed may be anywhere; with `*` every other one may
/// be fetched too whose addresses are all public.
struct AllowedOrigins: Sendable, Equatable {
    private let listed: Set<WebOrigin>
    private let allowsPublic: Bool

    /// - Parameter text: origins with commas between them, and `*`.
    init(_ text: String) throws(ConfigurationError) {
        var listed: Set<WebOrigin> = []
        let items = text.split(separator: ",").map { $0.filter { $0 != " " } }
        for item in items where item != "*" {
            guard let origin = WebOrigin(url: item),
                !item.dropFirst(origin.scheme.count + 3).contains(where: { "/?#".contains($0) })
            else {
                throw ConfigurationError("ALLOWED_ORIGINS must list origins such as http://127.0.0.1:8084, or *")
            }
            listed.insert(origin)
        }
        self.listed = listed
        allowsPublic = items.contains("*")
    }

    /// Whether a URL may be fetched as far as it tells by itself.
    func mayFetch(_ origin: WebOrigin) -> Bool { allowsPublic || listed.contains(origin) }

    /// How to reach an origin.
    enum Way: Equatable {
        /// By its name, resolved as usual.
        case direct
        /// By this address: the one that was looked at, so that the name can't change its mind.
        case pinned(String)
        case refused
        case unresolvable
    }

    func way(to origin: WebOrigin) async throws -> Way {
        if listed.contains(origin) { return .direct }
        guard allowsPublic else { return .refused }
        let addresses = try await NIOThreadPool.singleton.runIfActive {
            // Blocks, and so it runs here.
            Self.resolve(origin.host)
        }
        guard let first = addresses.first else { return .unresolvable }
        guard addresses.allSatisfy(Self.isPublic) else { return .refused }
        return first.ipAddress.map { .pinned($0) } ?? .refused
    }

    private static func resolve(_ host: String) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = list
        while let entry = next?.pointee {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            if getnameinfo(
                entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0,
                let end = text.firstIndex(of: 0),
                let address = try? SocketAddress(
                    ipAddress: String(decoding: text[..<end].map { UInt8(bitPattern: $0) }, as: UTF8.self), port: 0)
            {
                addresses.append(address)
            }
            next = entry.ai_next
        }
        return addresses
    }

    /// Whether an address is of the public internet: not private, loopback, link-local, shared, reserved or multicast (the
    /// special-purpose registries of RFC 6890).
    static func isPublic(_ address: SocketAddress) -> Bool {
        guard let text = address.ipAddress else { return false }
        switch address {
        case .v4: return bytes(of: text, AF_INET, count: 4).map { isPublic(v4: $0) } ?? false
        case .v6: return bytes(of: text, AF_INET6, count: 16).map { isPublic(v6: $0) } ?? false
        case .unixDomainSocket: return false
        }
    }

    private static func bytes(of text: String, _ family: Int32, count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return inet_pton(family, text, &bytes) == 1 ? bytes : nil
    }

    private static func isPublic(v4 a: [UInt8]) -> Bool {
        switch (a[0], a[1]) {
        case (0, _), (10, _), (127, _), (169, 254), (172, 16...31), (192, 168): false
        case (100, 64...127): false
        case (192, 0) where a[2] == 0 || a[2] == 2: false
        case (198, 18...19): false
        case (198, 51) where a[2] == 100: false
        case (203, 0) where a[2] == 113: false
        case (224..., _): false
        default: true
        }
    }

    private static func isPublic(v6 a: [UInt8]) -> Bool {
        // IPv4 in an IPv6 address: mapped, or translated by the well-known prefix.
        if a[..<10].allSatisfy({ $0 == 0 }), a[10] == 0xFF, a[11] == 0xFF { return isPublic(v4: Array(a[12...])) }
        if Array(a[..<12]) == [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0] { return isPublic(v4: Array(a[12...])) }
        // Global unicast is 2000::/3; 2001:db8::/32 is for documents, 2002::/16 holds IPv4.
        guard a[0] & 0xE0 == 0x20 else { return false }
        if a[0] == 0x20, a[1] == 0x01, a[2] == 0x0D, a[3] == 0xB8 { return false }
        if a[0] == 0x20, a[1] == 0x02 { return isPublic(v4: Array(a[2..<6])) }
        return true
    }
}
