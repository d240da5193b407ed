import AsyncHTTPClient
import HTTPTypes
import Hummingbird
import Identity
import NIOCore
import NIOHTTP1
import Records
import ServiceKit
import TestSupport
import Testing
import Timeline

@testable import HTTPKit

/// The slots that long answers keep until they are sent, and those of requests without a credential.
@Suite("Slots of answers", .tags(.processes), .timeLimit(.minutes(5))) struct AnswerSlotTests {
    private static let length = 1 << 20

    /// Returns slots of which a device has one for streams and one for downloads.
    private static func slots(open: Int = 64) -> RequestSlots {
        var limits = RequestSlots.Limits()
        (limits.deviceStreams, limits.deviceDownloads, limits.open) = (1, 1, open)
        return RequestSlots(limits)
    }

    private static func token(of device: String, _ service: TestService) async throws -> String {
        try await service.tokens.issue(device: device, fleet: "f1", id: "t", lifetime: .hours(1))
    }

    /// Returns an answer whose body waits for a gate.
    private static func film(after gate: Gate) -> Response {
        Response(
            status: .ok,
            body: ResponseBody(contentLength: length) { writer in
                await gate.wait()
                try await writer.write(ByteBuffer(repeating: 7, count: length))
                try await writer.finish(nil)
            })
    }

    private static func bytes(_ count: Int) -> Response {
        Response(
            status: .ok, headers: [.eTag: "\"7\""],
            body: ResponseBody(byteBuffer: ByteBuffer(repeating: 7, count: count)))
    }

    @Test func `a stream keeps a slot until it ends`() async throws {
        let slots = Self.slots()
        let (events, source) = AsyncStream<ServerSentEvent>.makeStream()
        try await TestService.run(
            slots: slots,
            routes: { table in
                table.add(.get, "/v1/stream", "Streams events") { call in
                    Response(events: events, on: call.context)
                }
            }
        ) { service in
            let token = try await Self.token(of: "d1", service)
            let stream = try await HTTPClient.shared.execute(
                service.request("/v1/stream", key: token), timeout: .seconds(60))
            #expect(stream.status == .ok && slots.count(.stream) == 1)
            let refused = try await service.send("GET", "/v1/stream", key: token)
            #expect(refused.status == 429 && refused.code == "too_many_in_flight")
            #expect(refused.headers["retry-after"] == "1")
            let device = try await service.send("GET", "/v1/devices/d1", key: token)
            #expect(device.status == 200)
            source.finish()
            let text = String(buffer: try await stream.body.collect(upTo: 1 << 16))
            #expect(text == ": open\n\n")
            try await eventually(describe: "the slot is free") { slots.count(.stream) == 0 }
            let next = try await service.send("GET", "/v1/stream", key: token)
            #expect(next.status == 200)
        }
    }

    @Test func `a download keeps a slot until it is sent`() async throws {
        let (slots, mayEnd) = (Self.slots(), Gate())
        try await TestService.run(
            slots: slots,
            routes: { table in
                table.add(.get, "/v1/film", "Sends a film") { _ in Self.film(after: mayEnd) }
                table.add(.get, "/v1/note", "Sends a short text") { _ in Self.bytes(Response.longestShort) }
            }
        ) { service in
            let token = try await Self.token(of: "d1", service)
            let film = try await HTTPClient.shared.execute(
                service.request("/v1/film", key: token), timeout: .seconds(60))
            #expect(film.status == .ok && slots.count(.download) == 1 && slots.count(.work) == 0)
            let refused = try await service.send("GET", "/v1/film", key: token)
            #expect(refused.status == 429 && refused.code == "too_many_in_flight")
            let note = try await service.send("GET", "/v1/note", key: token)
            #expect(note.status == 200)
            mayEnd.open()
            let bytes = try await film.body.collect(upTo: Self.length)
            #expect(bytes.readableBytes == Self.length)
            try await eventually(describe: "the slot is free") { slots.count(.download) == 0 }
            let next = try await service.send("GET", "/v1/film", key: token)
            #expect(next.status == 200)
        }
    }

    @Test func `a download of a client that leaves frees its slot`() async throws {
        let slots = Self.slots()
        try await TestService.run(
            slots: slots,
            routes: { table in
                table.add(.get, "/v1/archive", "Sends an archive") { _ in
                    // More than the buffers of the connection.
                    Response(
                        status: .ok,
                        body: ResponseBody(contentLength: 64 << 20) { writer in
                            for _ in 0..<64 { try await writer.write(ByteBuffer(repeating: 7, count: 1 << 20)) }
                            try await writer.finish(nil)
                        })
                }
            }
        ) { service in
            let token = try await Self.token(of: "d1", service)
            let wire = try await Wire(service.port, reads: false)
            try await wire.send("GET /v1/archive HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n\r\n")
            try await eventually(describe: "the answer is being sent") { slots.count(.download) == 1 }
            let refused = try await service.send("GET", "/v1/archive", key: token)
            #expect(refused.status == 429 && refused.code == "too_many_in_flight")
            try await wire.close()
            try await eventually(describe: "the slot is free") { slots.count(.download) == 0 }
        }
    }

    @Test func `the long answer to a command is sent beyond the limit`() async throws {
        let (slots, mayEnd) = (Self.slots(), Gate())
        try await TestService.run(
            slots: slots,
            routes: { table in
                table.add(.get, "/v1/film", "Sends a film") { _ in Self.film(after: mayEnd) }
                table.add(.post, "/v1/batch", "Has a long answer") { _ in Self.bytes(Response.longestShort + 1) }
            }
        ) { service in
            let token = try await Self.token(of: "d1", service)
            let film = try await HTTPClient.shared.execute(
                service.request("/v1/film", key: token), timeout: .seconds(60))
            #expect(film.status == .ok)
            let done = try await service.send("POST", "/v1/batch", "{}", key: token)
            #expect(done.status == 200 && done.body.utf8.count == Response.longestShort + 1)
            mayEnd.open()
            _ = try await film.body.collect(upTo: Self.length)
            try await eventually(describe: "both slots are free") { slots.count(.download) == 0 }
        }
    }

    @Test func `an answer without its body frees its slot`() async throws {
        let slots = Self.slots()
        try await TestService.run(
            slots: slots,
            routes: { table in
                for method in [HTTPRequest.Method.get, .head] {
                    table.add(method, "/v1/film", "Sends a film") { _ in Self.bytes(Self.length) }
                }
            }
        ) { service in
            let token = try await Self.token(of: "d1", service)
            for _ in 0..<2 {
                let head = try await service.send("HEAD", "/v1/film", key: token)
                #expect(head.status == 200)
                let known = try await service.send("GET", "/v1/film", nil, ["If-None-Match": "\"7\""], key: token)
                #expect(known.status == 304)
            }
            #expect(slots.count(.download) == 0)
        }
    }

    // MARK: Without a credential

    @Test func `an address has no more than its share of the requests without a credential`() async throws {
        let (entered, mayGo) = (Gate(), Gate())
        try await TestService.run(
            slots: Self.slots(open: 2),
            routes: { table in
                table.add(.get, "/v1/slow", "Waits", .open) { _ in
                    entered.open()
                    await mayGo.wait()
                    return Response(json: Array("{}".utf8))
                }
            }
        ) { service in
            async let slow = service.send("GET", "/v1/slow", key: nil)
            await entered.wait()
            let refused = try await service.send("GET", "/openapi.json", key: nil)
            #expect(refused.status == 429 && refused.code == "too_many_from_address")
            #expect(refused.headers["retry-after"] == "1")
            for path in RequestGuard.probes {
                let probe = try await service.send("GET", path, key: nil)
                #expect(probe.status == 200, "\(path)")
            }
            let device = try await service.send("GET", "/v1/devices/d1")
            #expect(device.status == 200)
            let other = try await Wire(service.port, from: "127.0.0.2")
            try await other.send("GET /openapi.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            let text = try await other.rest()
            #expect(text.hasPrefix("HTTP/1.1 200 OK"))
            mayGo.open()
            let answer = try await slow
            #expect(answer.status == 200)
            let description = try await service.send("GET", "/openapi.json", key: nil)
            #expect(description.status == 200)
            #expect(description.json["paths"]?["/healthz"]?["get"]?["responses"]?["429"] != nil)
        }
    }

    @Test func `a download without a credential keeps the slot of its address until it is sent`() async throws {
        let (slots, mayEnd) = (Self.slots(open: 2), Gate())
        try await TestService.run(
            slots: slots,
            routes: { table in
                table.add(.get, "/v1/film", "Sends a film", .open) { _ in Self.film(after: mayEnd) }
            }
        ) { service in
            let film = try await HTTPClient.shared.execute(
                service.request("/v1/film", key: nil), timeout: .seconds(60))
            #expect(film.status == .ok && slots.count(.open) == 1)
            let refused = try await service.send("GET", "/openapi.json", key: nil)
            #expect(refused.status == 429 && refused.code == "too_many_from_address")
            mayEnd.open()
            _ = try await film.body.collect(upTo: Self.length)
            try await eventually(describe: "the slot is free") { slots.count(.open) == 0 }
        }
    }

    @Test func `an address that many clients share may have all slots`() throws {
        var limits = RequestSlots.Limits(knowsAddresses: false)
        limits.open = 2
        let (slots, proxy) = (RequestSlots(limits), RequestSlots.Holder.address([192, 0, 2, 7]))
        for _ in 0..<2 { try slots.enter(.open, proxy) }
        #expect(throws: Problem.busy) { try slots.enter(.open, proxy) }
        slots.leave(.open, proxy)
        try slots.enter(.open, proxy)
        #expect(slots.count(.open) == 2)
    }
}
