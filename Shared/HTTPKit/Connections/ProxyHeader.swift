import NIOCore

/// The header of the PROXY protocol, version 1 or 2.
struct ProxyHeader: Equatable {
    /// The number of its bytes; 0 if the connection begins without a header.
    let length: Int
    /// The client; nil if the proxy speaks for itself, or names none.
    let client: SocketAddress?

    struct Invalid: Error {}

    /// The longest header of version 1, with its line end.
    private static let longestLine = 107
    /// The longest header of version 2 that is read: proxies add some hundred bytes of further values.
    private static let longestBlock = 4096
    private static let word = Array("PROXY ".utf8)
    private static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10]

    /// Reads the header at the start of a connection.
    ///
    /// - Returns: nil if more bytes are needed.
    /// - Throws: ``Invalid``.
    init?(_ bytes: [UInt8]) throws(Invalid) {
        if bytes.isEmpty { return nil }
        if Self.begins(bytes, with: Self.word) {
            guard bytes.count >= Self.word.count else { return nil }
            guard let end = bytes.firstIndex(of: 10) else {
                guard bytes.count < Self.longestLine else { throw Invalid() }
                return nil
            }
            guard end < Self.longestLine, bytes[end - 1] == 13 else { throw Invalid() }
            self = ProxyHeader(length: end + 1, client: try Self.client(ofLine: bytes[Self.word.count..<end - 1]))
        } else if Self.begins(bytes, with: Self.signature) {
            guard bytes.count >= 16 else { return nil }
            let size = Int(bytes[14]) << 8 | Int(bytes[15])
            guard bytes[12] >> 4 == 2, bytes[12] & 15 <= 1, size <= Self.longestBlock else { throw Invalid() }
            guard bytes.count >= 16 + size else { return nil }
            // Command 0: the proxy itself connects, for example for a check.
            let client = bytes[12] & 15 == 0 ? nil : try Self.client(ofBlock: bytes[16..<16 + size], family: bytes[13])
            self = ProxyHeader(length: 16 + size, client: client)
        } else {
            self = ProxyHeader(length: 0, client: nil)
        }
    }

    private init(length: Int, client: SocketAddress?) { (self.length, self.client) = (length, client) }

    /// Whether the bytes so far can be those of a text.
    private static func begins(_ bytes: [UInt8], with text: [UInt8]) -> Bool {
        text.starts(with: bytes.prefix(text.count))
    }

    /// Such as `TCP4 192.0.2.1 192.0.2.2 56324 443`, or `UNKNOWN` with anything after it.
    private static func client(ofLine line: ArraySlice<UInt8>) throws(Invalid) -> SocketAddress? {
        let parts = String(decoding: line, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
        if parts.first == "UNKNOWN" { return nil }
        guard parts.count == 5, parts[0] == "TCP4" || parts[0] == "TCP6", let port = UInt16(parts[3]),
            UInt16(parts[4]) != nil, let address = try? SocketAddress(ipAddress: String(parts[1]), port: Int(port)),
            let other = try? SocketAddress(ipAddress: String(parts[2]), port: 0),
            address.protocol == other.protocol, (address.protocol == .inet) == (parts[0] == "TCP4")
        else { throw Invalid() }
        return address
    }

    private static func client(
        ofBlock block: ArraySlice<UInt8>, family: UInt8
    ) throws(Invalid) -> SocketAddress? {
        let size: Int
        switch family >> 4 {
        case 1: size = 4
        case 2: size = 16
        // Unspecified, or a local socket.
        case 0, 3: return nil
        default: throw Invalid()
        }
        guard block.count >= 2 * size + 4 else { throw Invalid() }
        let port = block.dropFirst(2 * size).prefix(2).reduce(0) { $0 << 8 | Int($1) }
        let address = ByteBuffer(bytes: block.prefix(size))
        guard let client = try? SocketAddress(packedIPAddress: address, port: port) else { throw Invalid() }
        return client
    }
}
