import Crypto

/// A credential as a client sends it, with the hash that finds it in memory.
public struct Credential: Sendable {
    /// The text after `Bearer`.
    public let text: String
    /// The SHA-256 of the text.
    let hash: SHA256Digest

    /// Hashes a credential.
    public init(_ text: String) {
        self.text = text
        var hash = SHA256()
        var text = text
        text.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        self.hash = hash.finalize()
    }
}
