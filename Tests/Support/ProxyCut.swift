import Foundation
import Synchronization

/// A rule that cuts a connection when its client sends certain bytes; see
/// ``TCPProxy/cut(whenClientSends:after:count:)``.
public final class ProxyCut: Sendable {
    /// The point of the cut.
    public enum Moment: Sendable {
        /// After the server has received the bytes, which it may process; its answer is dropped.
        case forwarding
        /// Before the server receives the last of the bytes and everything in the same read.
        case beforeForwarding
    }

    let moment: Moment
    private let bytes: Data
    private let left: Mutex<Int>
    let clients = Tally()
    let servers = Tally()

    /// The longest pattern in bytes, and so the number of past bytes that a connection keeps.
    static let longest = 4096

    init(bytes: [UInt8], moment: Moment, count: Int) {
        precondition((1...Self.longest).contains(bytes.count), "a pattern has 1 to \(Self.longest) bytes")
        self.bytes = Data(bytes)
        self.moment = moment
        left = Mutex(count)
    }

    /// The number of cuts so far.
    public var count: Int { clients.count }

    /// Waits for a number of cuts, after which the clients' connections are closed.
    public func happened(_ count: Int = 1) async throws { try await clients.reaches(count) }

    /// Waits until the server has also closed its side after a number of cuts, and so has processed all bytes.
    public func settled(_ count: Int = 1) async throws { try await servers.reaches(count) }

    /// Uses up one cut if the bytes end in `chunk`.
    /// - Parameter past: the bytes that the client sent before.
    func strikes(_ chunk: Data, after past: Data) -> Bool {
        let window = past.suffix(bytes.count - 1) + chunk
        guard window.range(of: bytes) != nil else { return false }
        return left.withLock { left in
            guard left > 0 else { return false }
            left -= 1
            return true
        }
    }
}
