import Postgres
import TestSupport
import Testing

@Suite("The listener", .tags(.database))
struct ListenerTests {
    /// Runs a listener while `body` reads its events.
    private func listening(
        _ options: ConnectionOptions, heartbeat: Duration = .seconds(5),
        _ body: (Listener, inout AsyncStream<ListenerEvent>.Iterator) async throws -> Void
    ) async throws {
        let listener = Listener(options, channels: ["hints", "odd \"name"], heartbeat: heartbeat, logger: .quiet)
        let run = Task { try await listener.run() }
        let watchdog = Task {
            // End the stream, so that a test fails instead of hanging.
            try await Task.sleep(for: .seconds(60))
            run.cancel()
        }
        var events = listener.events.makeAsyncIterator()
        try await body(listener, &events)
        watchdog.cancel()
        run.cancel()
        try await run.value
    }

    @Test func `a notification arrives with its payload`() async throws {
        let database = try await Database()
        let sender = try await database.connect()
        try await listening(database.options) { listener, events in
            #expect(await events.next() == .listening)
            #expect(await listener.isListening)
            try await sender.execute("SELECT pg_notify('hints', '3,5')")
            #expect(await events.next() == .notification(channel: "hints", payload: "3,5"))
            try await sender.execute("SELECT pg_notify('odd \"name', '')")
            #expect(await events.next() == .notification(channel: "odd \"name", payload: ""))
        }
    }

    @Test func `a lost connection is replaced and readers must catch up`() async throws {
        let database = try await Database()
        let sender = try await database.connect()
        try await listening(database.options) { _, events in
            #expect(await events.next() == .listening)
            try await sender.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = $1",
                .text(try await sender.execute("SELECT current_database()::text")[0].decode(String.self)))
            guard case .lost = await events.next() else {
                Issue.record("not lost")
                return
            }
            #expect(await events.next() == .listening)
            try await sender.execute("SELECT pg_notify('hints', 'again')")
            #expect(await events.next() == .notification(channel: "hints", payload: "again"))
        }
    }

    @Test func `the heartbeat detects a silent peer`() async throws {
        let cluster = try await PrivateCluster.shared()
        let proxy = try await TCPProxy.start(port: cluster.port)
        let url = try await cluster.tcpURL(database: cluster.makeNamedDatabase(), port: proxy.port)
        try await listening(ConnectionOptions(url: url), heartbeat: .milliseconds(100)) { listener, events in
            #expect(await events.next() == .listening)
            try await proxy.pause()
            guard case .lost = await events.next() else {
                Issue.record("not lost")
                return
            }
            #expect(await !listener.isListening)
            proxy.resume()
            #expect(await events.next() == .listening)
        }
        try await proxy.stop()
    }

    @Test func `the listener retries until the server is back`() async throws {
        let cluster = try await PrivateCluster.make(fsync: false)
        try await cluster.stop(.fast)
        try await listening(ConnectionOptions(url: cluster.url(database: "postgres"))) { _, events in
            guard case .lost(let reason) = await events.next() else {
                Issue.record("not lost")
                return
            }
            #expect(reason.contains("nothing answers there"))
            try await cluster.start()
            while let event = await events.next(), event != .listening {}
            try await cluster.sql("NOTIFY hints, 'up'")
            #expect(await events.next() == .notification(channel: "hints", payload: "up"))
        }
        try await cluster.destroy()
    }

    @Test func `cancellation ends the listener and its events`() async throws {
        let database = try await Database()
        let listener = Listener(database.options, channels: ["hints"], logger: .quiet)
        let run = Task { try await listener.run() }
        var events = listener.events.makeAsyncIterator()
        #expect(await events.next() == .listening)
        run.cancel()
        try await run.value
        #expect(await events.next() == nil)
    }

    @Test func `an invalid channel name is refused`() async throws {
        let listener = Listener(try await Database().options, channels: [""], logger: .quiet)
        guard case .invalidOptions(part: "channels", _) = await caught({ try await listener.run() }) else {
            Issue.record("the channel was accepted")
            return
        }
    }
}
