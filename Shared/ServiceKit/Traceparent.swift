/// The W3C trace context of a request (https://www.w3.org/TR/trace-context/, version 00).
public struct Traceparent: Sendable, Hashable, CustomStringConvertible {
    /// 32 lower-case hexadecimal digits, not all zero.
    public let traceID: String
    /// 16 lower-case hexadecimal digits, not all zero.
    public let parentID: String
    /// 2 lower-case hexadecimal digits.
    public let flags: String

    /// Reads the header; nil where it is not acceptable, and then a new trace begins.
    public init?(_ header: String) {
        let parts = header.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
        guard parts.count >= 4, parts[0] == "00" ? parts.count == 4 : parts[0] != "ff", parts[0].isHexadecimal(2),
            parts[1].isHexadecimal(32), parts[2].isHexadecimal(16), parts[3].isHexadecimal(2),
            parts[1].contains(where: { $0 != "0" }), parts[2].contains(where: { $0 != "0" })
        else { return nil }
        (traceID, parentID, flags) = (parts[1], parts[2], parts[3])
    }

    private init(traceID: String, parentID: String, flags: String) {
        (self.traceID, self.parentID, self.flags) = (traceID, parentID, flags)
    }

    /// The start of a new trace.
    public static func random() -> Traceparent {
        Traceparent(traceID: hexadecimal() + hexadecimal(), parentID: hexadecimal(), flags: "01")
    }

    /// A step within the same trace.
    public func child() -> Traceparent { Traceparent(traceID: traceID, parentID: Self.hexadecimal(), flags: flags) }

    public var description: String { "00-\(traceID)-\(parentID)-\(flags)" }

    private static func hexadecimal() -> String {
        let digits = String(UInt64.random(in: 1...UInt64.max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension String {
    fileprivate func isHexadecimal(_ count: Int) -> Bool {
        utf8.count == count && utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
