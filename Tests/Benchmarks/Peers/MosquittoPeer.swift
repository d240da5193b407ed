import Foundation
import TestSupport

/// mosquitto with persistence, and its own clients: a publisher and a subscriber with QoS 1 for each topic.
struct MosquittoPeer {
    static let clients = 16

    let pace: Pace

    /// - Returns: the milliseconds from the publisher's input to the subscriber.
    func measure() async throws -> [Double] {
        let broker = try ToolMissing.path(of: "mosquitto", package: "mosquitto")
        let publish = try ToolMissing.path(of: "mosquitto_pub", package: "mosquitto-clients")
        let subscribe = try ToolMissing.path(of: "mosquitto_sub", package: "mosquitto-clients")
        let folder = URL.temporaryDirectory.appending(path: "dormouse-mosquitto-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = try freePort()
        let configuration = folder.appending(path: "mosquitto.conf")
        try """
        listener \(port) 127.0.0.1
        allow_anonymous true
        user \(NSUserName())
        persistence true
        persistence_location \(folder.path)/
        autosave_on_changes true
        autosave_interval 1000
        max_queued_messages 0
        log_dest stderr
        log_type subscribe
        """.write(to: configuration, atomically: true, encoding: .utf8)
        let server = try ChildProcess.start(broker, ["-c", configuration.path])
        let address = ["-h", "127.0.0.1", "-p", "\(port)", "-q", "1"]
        let each = pace.total / Self.clients
        try await isListening(port)
        let subscribers = try (0..<Self.clients).map { number in
            try ChildProcess.start(
                subscribe,
                address + [
                    "-c", "-i", "device-\(number)", "-t", "devices/\(number)", "-F", "%U %p", "-C", "\(each)",
                ])
        }
        for number in 0..<Self.clients { try await server.waitForLine(containing: "device-\(number) 1 devices") }
        let publishers = try (0..<Self.clients).map { number in
            try Publisher(publish, address + ["-i", "provider-\(number)", "-t", "devices/\(number)", "-l"])
        }
        let start = ContinuousClock.now
        for number in 0..<each * Self.clients {
            try await Task.sleep(until: start + .seconds(Double(number) / Double(pace.rate)))
            publishers[number % Self.clients].write("\(wallMilliseconds())\n")
        }
        for publisher in publishers { publisher.end() }
        var values: [Double] = []
        for subscriber in subscribers {
            guard try await subscriber.exit() == .exited(0) else {
                throw ToolFailed(description: "mosquitto_sub: \(subscriber.errors.lines.suffix(4))")
            }
            values += subscriber.output.lines.compactMap { line in
                let words = line.split(separator: " ").compactMap { Double($0) }
                return words.count == 2 ? words[0] * 1000 - words[1] : nil
            }
        }
        server.signal(SIGTERM)
        try await server.exit()
        return values
    }

    private func isListening(_ port: Int) async throws {
        try await eventually(within: 10, describe: "mosquitto listens") { !isFree(port) }
    }

    /// `mosquitto_pub -l`, which publishes each line of its input.
    private final class Publisher: Sendable {
        private let process: Process
        private let input: FileHandle

        init(_ path: String, _ arguments: [String]) throws {
            let pipe = Pipe()
            process = Process()
            process.executableURL = URL(fileURLWithPath: path)
            process.arguments = arguments
            process.standardInput = pipe
            input = pipe.fileHandleForWriting
            try process.run()
        }

        func write(_ line: String) { input.write(Data(line.utf8)) }

        func end() {
            try? input.close()
            process.waitUntilExit()
        }
    }
}
