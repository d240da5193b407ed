import AsyncHTTPClient
import NIOCore
import Records
import Synchronization
import TestSupport

/// Reads a stream of server-sent events to its end, and returns the data of each event in order.
final class EventReader: Sendable {
    private final class Inbox: Sendable {
        let items = Mutex<[JSON]>([])
        let lastID = Mutex<String?>(nil)
        let count = Tally()
        let opened = Signal<Void>()
    }

    private let inbox = Inbox()
    private let next = Mutex(0)
    private let reading: Task<Void, Never>

    init(_ body: HTTPClientResponse.Body) {
        // The task lives as long as the reader, which cancels it; no scope of the test fits.
        reading = Task { [inbox] in
            var text = ""
            do {
                for try await part in body {
                    text += String(buffer: part)
                    while let end = text.firstRange(of: "\n\n") {
                        let lines = text[..<end.lowerBound].split(separator: "\n")
                        let id = lines.first { $0.hasPrefix("id: ") }.map { String($0.dropFirst(4)) }
                        let data = lines.first { $0.hasPrefix("data: ") }
                        text = String(text[end.upperBound...])
                        inbox.opened.fire()
                        if let id { inbox.lastID.withLock { $0 = id } }
                        guard let line = data else { continue }
                        let item = (try? JSON(parsing: line.dropFirst(6).utf8)) ?? .null
                        inbox.items.withLock { $0.append(item) }
                        inbox.count.add()
                    }
                }
            } catch {
                // The stream or the reader has ended. A test that waits for more gets a timeout.
            }
        }
    }

    deinit { reading.cancel() }

    /// All events so far.
    var items: [JSON] { inbox.items.withLock { $0 } }

    /// The id of the last event, to resume after.
    var lastID: String? { inbox.lastID.withLock { $0 } }

    /// Waits for the next event.
    func take(_ what: String) async throws -> JSON {
        let index = next.withLock { next in
            defer { next += 1 }
            return next
        }
        try await waitFor(index + 1, what)
        return items[index]
    }

    /// Waits for the first comment of the stream. By then, for example, a device is connected to `push`.
    func waitUntilOpen(_ what: String) async throws {
        try await withTimeout(seconds: 90, what) { [inbox] in try await inbox.opened.value() }
    }

    /// Waits until the stream ends.
    func waitForEnd(_ what: String) async throws {
        try await withTimeout(seconds: 90, what) { [reading] in await reading.value }
    }

    /// Waits until the stream has delivered `count` events.
    func waitFor(_ count: Int, _ what: String) async throws {
        try await withTimeout(seconds: 90, what) { [inbox] in try await inbox.count.reaches(count) }
    }
}
