import Foundation
import TestSupport

/// A stream of Redis whose entries a consumer group reads. The consumer adds an entry to another stream for each.
struct RedisPeer {
    let pace: Pace

    /// - Returns: the milliseconds from the client that adds an entry to the write of the one that follows.
    func measure() async throws -> [Double] {
        let program = try ToolMissing.path(of: "redis-server", package: "redis-server")
        let folder = URL.temporaryDirectory.appending(path: "dormouse-redis-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = try freePort()
        let server = try ChildProcess.start(
            program,
            [
                "--bind", "127.0.0.1", "--port", "\(port)", "--dir", folder.path, "--appendonly", "yes",
                "--appendfsync", "always", "--save", "",
            ])
        try await server.waitForLine(containing: "Ready to accept connections")
        try RedisConnection(port: port).call([["XGROUP", "CREATE", "in", "group", "$", "MKSTREAM"]])
        let total = pace.total
        async let handled = onThread { try Self.consume(port, total) }
        try await produce(port)
        let values = try await handled
        server.signal(SIGTERM)
        try await server.exit()
        return values
    }

    private func produce(_ port: Int) async throws {
        let connection = try RedisConnection(port: port)
        let start = ContinuousClock.now
        for round in 0..<pace.rounds {
            try await pace.wait(for: round, since: start)
            let now = "\(wallMilliseconds())"
            try connection.call((0..<pace.batch).map { _ in ["XADD", "in", "*", "sentAt", now] })
        }
    }

    private static func consume(_ port: Int, _ total: Int) throws -> [Double] {
        let connection = try RedisConnection(port: port)
        var values: [Double] = []
        while values.count < total {
            let found = try connection.call([
                [
                    "XREADGROUP", "GROUP", "group", "consumer", "COUNT", "200", "BLOCK", "10000", "STREAMS", "in", ">",
                ]
            ])
            // One stream: its name and its entries. An entry: its id and its fields.
            let entries = found[0].list.first?.list.last?.list ?? []
            guard !entries.isEmpty else { throw ToolFailed(description: "redis: no entry within 10 s") }
            let now = wallMilliseconds()
            var commands: [[String]] = []
            for entry in entries {
                let sentAt = entry.list.last?.list.last?.text ?? ""
                values.append(now - (Double(sentAt) ?? .nan))
                commands.append(["XADD", "out", "*", "sentAt", sentAt])
                commands.append(["XACK", "in", "group", entry.list.first?.text ?? ""])
            }
            try connection.call(commands)
        }
        return values
    }
}

/// Runs blocking work on a thread of its own.
func onThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}
