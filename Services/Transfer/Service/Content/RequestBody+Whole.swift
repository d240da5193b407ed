import Hummingbird
import NIOCore
import ServiceKit

extension RequestBody.AsyncIterator {
    /// The next bytes of a body that counts as a whole only.
    ///
    /// - Throws: `body_cut`, whatever ended the connection.
    mutating func nextOfWhole() async throws(Problem) -> ByteBuffer? {
        do { return try await next() } catch { throw .bodyCut }
    }
}
