import Foundation

/// The identifier of a broadcast channel: 16 random bytes in Base64 with padding (RFC 4648 section 4).
struct ChannelID: Sendable, Hashable, CustomStringConvertible {
    static let length = 16

    let description: String
    /// Whether it is as long as those that are given out; a shorter one names no channel.
    let isComplete: Bool

    /// A new one.
    init() {
        var generator = SystemRandomNumberGenerator()
        description = Data((0..<Self.length).map { _ in generator.next() }).base64EncodedString()
        isComplete = true
    }

    /// Reads one; nil where the text is not Base64 in its canonical form, or stands for more than 16 bytes.
    init?(_ text: String) {
        guard let data = Data(base64Encoded: text), !data.isEmpty, data.count <= Self.length,
            data.base64EncodedString() == text
        else { return nil }
        description = text
        isComplete = data.count == Self.length
    }
}
