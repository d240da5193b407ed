import Synchronization

/// The W3C trace context of a request (https://www.w3.org/TR/trace-context/, version 00).
///
/// It consists of numbers for speed: each request creates one.
public struct Traceparent: Sendable, Hashable, CustomStringConvertible {
    private let trace: UInt128
    private let parent: UInt64
    private let options: UInt8

    /// 32 lower-case hexadecimal digits, not all zero.
    public var traceID: String { Self.text(32) { $0.write(trace) } }
    /// The id of the span; never zero.
    public var spanID: UInt64 { parent }
    /// Whether the spans of the trace are recorded.
    public var isSampled: Bool { options & 1 != 0 }
    /// A number from 0 to 1 that is the same for all spans of the trace, to record a share of all traces.
    var fraction: Double { Double(UInt64(truncatingIfNeeded: trace) >> 11) * 0x1p-53 }

    /// Reads the header; returns nil if it is not valid.
    public init?(_ header: String) {
        let parts = header.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count >= 4, let version: UInt8 = Self.number(parts[0]),
            version == 0 ? parts.count == 4 : version != 0xFF, let trace: UInt128 = Self.number(parts[1]),
            let parent: UInt64 = Self.number(parts[2]), let options: UInt8 = Self.number(parts[3]), trace != 0,
            parent != 0
        else { return nil }
        self.init(trace, parent, options)
    }

    private init(_ trace: UInt128, _ parent: UInt64, _ options: UInt8) {
        (self.trace, self.parent, self.options) = (trace, parent, options)
    }

    /// Starts a new trace.
    public static func random() -> Traceparent {
        Traceparent(UInt128(number()) << 64 | UInt128(number()), number(), 1)
    }

    /// Returns a new parent id in the same trace.
    public func child() -> Traceparent { Traceparent(trace, Self.number(), options) }

    /// Returns the same span with another id.
    func replacingSpanID(by id: UInt64) -> Traceparent { Traceparent(trace, max(1, id), options) }

    /// Returns the same span in a trace that is not recorded.
    func unsampled() -> Traceparent { Traceparent(trace, parent, options & ~1) }

    /// Returns a number of SplitMix64 from a random start; never zero. Ids must be unique, not secret, and the system's
    /// random numbers are slow.
    private static func number() -> UInt64 {
        var mixed = state.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return max(1, mixed ^ mixed >> 31)
    }

    private static let state = Atomic(UInt64.random(in: 0 ... .max))

    public var description: String {
        Self.text(55) { digits in
            digits.write(UInt8(0))
            digits.dash()
            digits.write(trace)
            digits.dash()
            digits.write(parent)
            digits.dash()
            digits.write(options)
        }
    }

    /// Reads a number with all lower-case hexadecimal digits of its type.
    private static func number<N: FixedWidthInteger>(_ digits: Substring.UTF8View) -> N? {
        guard digits.count * 4 == N.bitWidth else { return nil }
        var number: N = 0
        for digit in digits {
            switch digit {
            case 0x30...0x39: number = number << 4 | N(digit - 0x30)
            case 0x61...0x66: number = number << 4 | N(digit - 0x61 + 10)
            default: return nil
            }
        }
        return number
    }

    private static func text(_ length: Int, _ body: (inout Digits) -> Void) -> String {
        String(unsafeUninitializedCapacity: length) { buffer in
            var digits = Digits(buffer: buffer)
            body(&digits)
            return digits.count
        }
    }

    private struct Digits {
        let buffer: UnsafeMutableBufferPointer<UInt8>
        var count = 0

        mutating func dash() { append(UInt8(ascii: "-")) }

        mutating func write<N: FixedWidthInteger>(_ number: N) {
            var shift = N.bitWidth
            while shift > 0 {
                shift -= 4
                let digit = UInt8(truncatingIfNeeded: number >> shift) & 15
                append(digit < 10 ? 0x30 + digit : 0x61 + digit - 10)
            }
        }

        private mutating func append(_ byte: UInt8) {
            buffer[count] = byte
            count += 1
        }
    }
}
