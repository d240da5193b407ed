import Foundation
import Glibc

/// A blocking connection to a Redis server on this machine, for pipelines of commands.
final class RedisConnection {
    /// A reply (RESP2).
    enum Reply {
        case text(String)
        case number(Int)
        case list([Reply])
        case null

        var list: [Reply] { if case .list(let replies) = self { replies } else { [] } }
        var text: String { if case .text(let text) = self { text } else { "" } }
    }

    private let descriptor: Int32
    private var received: [UInt8] = []
    private var position = 0

    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) == 0 }
        }
        guard isConnected else { throw Self.failure("connect") }
        var yes: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close(descriptor) }

    private static func failure(_ what: String) -> ToolFailed {
        ToolFailed(description: "redis: \(what): \(String(cString: strerror(errno)))")
    }

    /// Sends commands in one write.
    func send(_ commands: [[String]]) throws {
        var bytes: [UInt8] = []
        for command in commands {
            bytes += "*\(command.count)\r\n".utf8
            for word in command { bytes += "$\(word.utf8.count)\r\n\(word)\r\n".utf8 }
        }
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Self.failure("send") }
            sent += count
        }
    }

    /// Sends commands and waits for all replies.
    @discardableResult
    func call(_ commands: [[String]]) throws -> [Reply] {
        try send(commands)
        return try commands.map { _ in try reply() }
    }

    /// Waits for the next reply.
    func reply() throws -> Reply {
        let line = try line()
        let rest = String(line.dropFirst())
        switch line.first {
        case "+": return .text(rest)
        case ":": return .number(Int(rest) ?? 0)
        case "-": throw ToolFailed(description: "redis: \(rest)")
        case "$":
            guard let count = Int(rest), count >= 0 else { return .null }
            while received.count - position < count + 2 { try receive() }
            defer { position += count + 2 }
            return .text(String(decoding: received[position..<position + count], as: UTF8.self))
        case "*":
            guard let count = Int(rest), count >= 0 else { return .null }
            return .list(try (0..<count).map { _ in try reply() })
        default: throw ToolFailed(description: "redis: a reply that starts with \(line)")
        }
    }

    private func line() throws -> String {
        while true {
            if let end = received[position...].firstIndex(of: UInt8(ascii: "\r")), end + 1 < received.count {
                defer { position = end + 2 }
                return String(decoding: received[position..<end], as: UTF8.self)
            }
            try receive()
        }
    }

    private func receive() throws {
        received.removeFirst(position)
        position = 0
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { throw Self.failure("receive") }
        received += chunk[..<count]
    }
}
