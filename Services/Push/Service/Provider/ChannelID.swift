import Foundation

/// The identifier of a broadcast channel: 16 random bytes in Base64 with padding (RFC 4648 section 4).
struct ChannelID: Sendable, Hashable, CustomStringConvertible {
    static let length = 16

    let description: String
    /// Whether it has all 16 bytes. A shorter id is valid Base64 but names no channel.
    let isComplete: Bool

    /// Creates a random id.
    init() {
        var generator = SystemRandomNumberGenerator()
        description = Data((0..<Self.length).map { _ in generator.next() }).base64EncodedString()
        isComplete = true
    }

    /// Parses an id; nil unless the text is canonical Base64 of 1 to 16 bytes.
    init?(_ text: String) {
        guard let data = Data(base64Encoded: text), !data.isEmpty, data.count <= Self.length,
            data.base64EncodedString() == text
        else { return nil }
        description = text
        isComplete = data.count == Self.length
    }
}
