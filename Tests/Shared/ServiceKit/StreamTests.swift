import AsyncHTTPClient
import HTTPKit
import HTTPTypes
import Hummingbird
import NIOCore
import Records
import ServiceLifecycle
import TestSupport
import Testing

@Suite(.tags(.processes), .timeLimit(.minutes(5))) struct StreamTests {
    private static func addStream(_ table: inout RouteTable, heartbeat: Duration = .seconds(15)) {
        table.add(.get, "/v1/stream", "Counts up to three", .open) { call in
            let start = try call.request.encodedPosition()?.offsets[2] ?? 0
            let events = AsyncStream<ServerSentEvent> { source in
                for offset in start + 1..<4 {
                    source.yield(ServerSentEvent(id: "2:\(offset)", event: "count", data: "a\n\(offset)"))
                }
                source.finish()
            }
            return Response(events: events, on: call.context, heartbeat: heartbeat)
        }
    }

    @Test func `a stream resumes after the Last-Event-ID`() async throws {
        try await TestService.run(routes: { Self.addStream(&$0) }) { service in
            let answer = try await service.send("GET", "/v1/stream", nil, ["Last-Event-ID": "2:1"])
            #expect(answer.headers["content-type"] == "text/event-stream")
            let events = (2...3).map { "id: 2:\($0)\nevent: count\ndata: a\ndata: \($0)\n\n" }
            #expect(answer.body == ": open\n\n" + events.joined())
        }
    }

    @Test(arguments: ["2", "2:x", "2:1,2:2", "-1:1", ""])
    func `an invalid Last-Event-ID is refused`(_ id: String) async throws {
        #expect(EncodedPosition(id) == nil)
        try await TestService.run(routes: { Self.addStream(&$0) }) { service in
            let answer = try await service.send("GET", "/v1/stream", nil, ["Last-Event-ID": id])
            #expect(answer.status == 400)
            #expect(answer.code == "invalid_header")
        }
    }

    /// HTML standard, section 9.2.6: clients store the id.
    @Test func `an id without data dispatches no event`() {
        #expect(ServerSentEvent(id: "2:1").text == "id: 2:1\n\n")
        #expect(ServerSentEvent(id: "2:1", data: "").text == "id: 2:1\ndata: \n\n")
    }

    @Test func `a resume point is the same after writing and reading`() {
        let point = EncodedPosition([3: 9, 0: 1, 12: 0])
        #expect(point.description == "0:1,3:9,12:0")
        #expect(EncodedPosition(point.description) == point)
    }

    @Test func `an idle stream sends heartbeats and ends when the service shuts down`() async throws {
        try await TestService.run(routes: { table in
            table.add(.get, "/v1/quiet", "Says nothing", .open) { call in
                let (events, source) = AsyncStream<ServerSentEvent>.makeStream()
                source.onTermination = { _ in _ = source }
                return Response(events: events, on: call.context, heartbeat: .milliseconds(20))
            }
        }) { service in
            let response = try await HTTPClient.shared.execute(service.request("/v1/quiet"), timeout: .seconds(60))
            var text = ""
            for try await part in response.body {
                text += String(buffer: part)
                if text.contains(": heartbeat\n\n") { await service.group.triggerGracefulShutdown() }
            }
            #expect(text.hasPrefix(": open\n\n: heartbeat\n\n"))
        }
    }
}
