import Foundation
import Synchronization

/// An order to cut connections when their clients send certain bytes; see
/// ``TCPProxy/cut(whenClientSends:after:count:)``.
public final class ProxyCut: Sendable {
    /// What still happens before the cut.
    public enum Moment: Sendable {
        /// The server gets the bytes, and may act on them; its answer is dropped.
        case forwarding
        /// The server does not get the last of the bytes, nor what came along with it.
        case beforeForwarding
    }

    let moment: Moment
    private let bytes: Data
    private let left: Mutex<Int>
    let clients = Tally()
    let servers = Tally()

    /// The longest pattern, in bytes: how much of the past a connection keeps.
    static let longest = 4096

    init(bytes: [UInt8], moment: Moment, count: Int) {
        precondition((1...Self.longest).contains(bytes.count), "a pattern has 1 to \(Self.longest) bytes")
        self.bytes = Data(bytes)
        self.moment = moment
        left = Mutex(count)
    }

    /// How many cuts have happened.
    public var count: Int { clients.count }

    /// Waits until so many cuts have happened: the clients' connections are closed.
    public func happened(_ count: Int = 1) async throws { try await clients.reaches(count) }

    /// Waits until, of so many cuts, the server has closed its side too: it has done what it was sent.
    public func settled(_ count: Int = 1) async throws { try await servers.reaches(count) }

    /// Takes one of the cuts when the bytes end in `chunk`.
    /// - Parameter past: what the client sent before.
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
