/// Scheme, host and port of a URL (RFC 6454). The list of allowed origins and the connection limit per host use it.
public struct WebOrigin: Sendable, Hashable, CustomStringConvertible {
    /// `http` or `https`.
    public let scheme: String
    /// The host in lower case; an IPv6 address without its brackets.
    public let host: String
    /// The port, or the default port of the scheme.
    public let port: Int

    /// Parses an absolute URL. Returns nil if it is not http or https, has credentials, or has invalid characters.
    public init?(url: String) {
        guard url.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !#""<>\^`{|}"#.utf8.contains($0) }) else {
            return nil
        }
        guard let colon = url.firstIndex(of: ":"), url[colon...].hasPrefix("://") else { return nil }
        scheme = url[..<colon].lowercased()
        guard scheme == "http" || scheme == "https" else { return nil }
        let authority = url[url.index(colon, offsetBy: 3)...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        var digits = Substring()
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            host = authority[authority.index(after: authority.startIndex)..<end].lowercased()
            guard host.utf8.allSatisfy({ Self.isHexadecimal($0) || $0 == 0x3A || $0 == 0x2E }) else { return nil }
            digits = authority[authority.index(after: end)...]
            guard digits.isEmpty || digits.hasPrefix(":") else { return nil }
        } else {
            host = authority.prefix { $0 != ":" }.lowercased()
            guard host.utf8.allSatisfy({ Self.isNameByte($0) }) else { return nil }
            digits = authority.dropFirst(host.count)
        }
        guard !host.isEmpty else { return nil }
        guard let number = Self.port(digits.dropFirst(), scheme) else { return nil }
        port = number
    }

    public var description: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == Self.standardPort(scheme) ? "\(scheme)://\(name)" : "\(scheme)://\(name):\(port)"
    }

    private static func port(_ digits: Substring, _ scheme: String) -> Int? {
        guard !digits.isEmpty else { return standardPort(scheme) }
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(digits) else { return nil }
        return (1...65535).contains(number) ? number : nil
    }

    private static func standardPort(_ scheme: String) -> Int { scheme == "https" ? 443 : 80 }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x2D || byte == 0x2E || byte == 0x5F
    }
}
