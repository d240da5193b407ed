import AsyncHTTPClient
import Contracts
import Hummingbird
import NIOCore
import NIOHTTP1
import Postgres
import Records
import ServiceKit
import TestSupport
import Testing
import Timeline

@testable import HTTPKit
@testable import Identity
@testable import Runtime

extension RequestSlots {
    /// Returns slots with a limit for work.
    static func of(_ work: Int, waits: Int = 8, documents: Int = 8, deviceWork: Int = 32) -> RequestSlots {
        var limits = Limits()
        (limits.work, limits.waits, limits.documents, limits.deviceWork) = (work, waits, documents, deviceWork)
        return RequestSlots(limits)
    }
}

struct SizedThing: Record {
    var size = 0
}

/// The shares of callers in the requests in progress.
@Suite("Request slots", .tags(.database, .processes), .timeLimit(.minutes(5))) struct SlotTests {
    @Test func `a request without a valid credential takes no slot`() async throws {
        let (entered, mayGo) = (Gate(), Gate())
        let refresh: @Sendable () async -> Bool = {
            entered.open()
            await mayGo.wait()
            return false
        }
        try await TestService.run(slots: .of(1), refresh: refresh) { service async throws in
            let stranger = try await DeviceTokens(pem: DeviceTokens.newKey(), keyID: "unknown")
            let token = try await stranger.issue(device: "d1", fleet: "f1", id: "t", lifetime: .hours(1))
            async let refused = service.send("GET", "/v1/devices/d1", key: token)
            await entered.wait()
            #expect(try await service.send("GET", "/v1/devices/d1").status == 200)
            mayGo.open()
            #expect(try await refused.code == "invalid_credential")
        }
    }

    @Test func `a device has no more than its share of the slots`() async throws {
        let (entered, mayGo) = (Gate(), Gate())
        try await TestService.run(
            slots: .of(64, deviceWork: 1),
            routes: { table in
                table.add(.get, "/v1/slow", "Waits") { _ in
                    entered.open()
                    await mayGo.wait()
                    return Response(json: Array("{}".utf8))
                }
            }
        ) { service async throws in
            func token(_ device: String) async throws -> String {
                try await service.tokens.issue(device: device, fleet: "f1", id: "t", lifetime: .hours(1))
            }
            let (own, other) = (try await token("d1"), try await token("d2"))
            async let slow = service.send("GET", "/v1/slow", key: own)
            await entered.wait()
            let refused = try await service.send("GET", "/v1/devices/d1", key: own)
            #expect(refused.status == 429 && refused.code == "too_many_in_flight")
            #expect(refused.headers["retry-after"] == "1")
            #expect(try await service.send("GET", "/v1/devices/d1", key: other).status == 404)
            mayGo.open()
            #expect(try await slow.status == 200)
            #expect(try await service.send("GET", "/v1/devices/d1", key: own).status == 200)
        }
    }

    @Test func `the devices of a fleet leave a quarter of the slots to others`() throws {
        var limits = RequestSlots.Limits()
        (limits.work, limits.documents, limits.bodies, limits.waits) = (8, 8, 8, 8)
        let slots = RequestSlots(limits)
        func device(_ number: Int, _ fleet: String) -> RequestSlots.Holder {
            .caller(.device("d\(number)", fleet: fleet))
        }
        for kind in [RequestSlots.Kind.work, .document, .body] {
            for number in 0..<6 { try slots.enter(kind, device(number, "large")) }
            #expect(throws: Problem.self) { try slots.enter(kind, device(6, "large")) }
            for number in 0..<2 { try slots.enter(kind, device(number, "small")) }
            do {
                try slots.enter(kind, device(2, "small"))
                Issue.record("all slots are taken")
            } catch { #expect(error.code == "busy") }
            for number in 0..<2 { slots.leave(kind, device(number, "small")) }
            slots.leave(kind, device(0, "large"))
            try slots.enter(kind, device(7, "large"))
            #expect(slots.count(kind) == 6)
        }
        // Waits need no processor time.
        for number in 0..<8 { try slots.enter(.wait, device(number, "large")) }
    }

    @Test func `a long poll frees its slot for work`() async throws {
        let (entered, mayGo) = (Gate(), Gate())
        try await TestService.run(
            slots: .of(1, waits: 2),
            routes: { table in
                table.add(.get, "/v1/news", "Waits for news") { call in
                    try await call.context.waiting {
                        entered.open()
                        await mayGo.wait()
                    }
                    return Response(json: Array("{}".utf8))
                }
            }
        ) { service async throws in
            async let poll = service.send("GET", "/v1/news")
            await entered.wait()
            // Half of two waits is the share of one credential.
            let second = try await service.send("GET", "/v1/news")
            #expect(second.status == 429 && second.code == "too_many_in_flight")
            #expect(try await service.send("GET", "/v1/devices/d1").status == 200)
            mayGo.open()
            #expect(try await poll.status == 200)
        }
    }

    @Test func `a document that arrives slowly takes no slot for work`() async throws {
        let slots = RequestSlots.of(1, documents: 2)
        try await TestService.run(
            slots: slots,
            routes: { table in
                table.add(.put, "/v1/things", "Takes a document", body: SizedThing.self) { thing, _ in
                    Response(json: thing.jsonBytes)
                }
            }
        ) { service async throws in
            for isRepeatable in [false, true] {
                let more = AsyncStream.makeStream(of: ByteBuffer.self)
                more.continuation.yield(ByteBuffer(string: #"{"size":"#))
                let headers = isRepeatable ? ["Idempotency-Key": "k"] : [:]
                async let slow = service.send("PUT", "/v1/things", stream: more.stream, headers)
                try await eventually(describe: "the service reads the document") { slots.count(.document) == 1 }
                #expect(slots.count(.work) == 0)
                #expect(try await service.send("GET", "/v1/devices/d1").status == 200)
                // Half of two documents is the share of one credential.
                let second = try await service.send("PUT", "/v1/things", #"{"size":2}"#)
                #expect(second.status == 429 && second.code == "too_many_in_flight")
                more.continuation.yield(ByteBuffer(string: "1}"))
                more.continuation.finish()
                let answer = try await slow
                #expect(answer.status == 200 && answer.json["size"] == 1, "\(answer)")
                #expect(slots.count(.document) == 0)
            }
        }
    }

    @Test func `an upload takes no slot for work`() async throws {
        let (entered, mayGo) = (Gate(), Gate())
        try await TestService.run(
            slots: .of(1),
            routes: { table in
                table.add(.put, "/v1/content", "Takes content", .takesContent) { _ in
                    entered.open()
                    await mayGo.wait()
                    return Response(json: Array("{}".utf8))
                }
            }
        ) { service async throws in
            async let upload = service.send("PUT", "/v1/content", "x", ["Content-Type": "text/plain"])
            await entered.wait()
            #expect(try await service.send("GET", "/v1/devices/d1").status == 200)
            mayGo.open()
            #expect(try await upload.status == 200)
        }
    }

    @Test func `one stuck partition leaves half of the slots for work to the others`() {
        #expect(PartitionInbox<Counter>.queueLimit <= RequestSlots.Limits().work / 2)
    }

    @Test func `a command that waits for its service to read the log takes no slot for work`() async throws {
        let service = try await CounterService.prepare()
        try await service.run { () async throws in
            let token = try await service.device("d1")
            // The service can't read this version, so its cursor stops before the event.
            var event = ForeignEvent(to: "d1", at: .epoch)
            event.version = 9
            try await service.pool.append(event, partitions: 4, wakesUp: false)
            let codes = try await withParallelClient { client in
                try await withThrowingTaskGroup(of: String?.self) { group in
                    // A device has 32 slots for work, and 16 for waits.
                    for _ in 0..<24 {
                        group.addTask {
                            let url = "http://127.0.0.1:\(service.port)/v1/devices/d1/refuse"
                            var request = HTTPClientRequest(url: url)
                            request.method = .POST
                            request.headers.add(name: "Authorization", value: "Bearer \(token)")
                            let response = try await client.execute(request, timeout: .seconds(60))
                            let body = try await response.body.collect(upTo: 1 << 16)
                            return try JSON(parsing: body.readableBytesView)["code"]?.string
                        }
                    }
                    return try await group.reduce(into: [String: Int]()) { $0[$1 ?? "", default: 0] += 1 }
                }
            }
            #expect(Set(codes.keys) == ["behind", "too_many_in_flight"], "\(codes)")
        }
        await service.pool.close()
    }

    @Test func `a slot is free again after leave`() throws {
        let slots = RequestSlots.of(2)
        let devices = ["f1", "f2"].map { RequestSlots.Holder.caller(.device("d1", fleet: $0)) }
        for _ in 0..<3 {
            for device in devices { try slots.enter(.work, device) }
            #expect(throws: Problem.busy) { try slots.enter(.work, devices[0]) }
            for device in devices { slots.leave(.work, device) }
        }
        #expect(slots.count(.work) == 0)
    }

    @Test func `a device waits for at most sixteen positions at a time`() async throws {
        let service = try await CounterService.prepare()
        let client = HTTPClient(
            eventLoopGroupProvider: .singleton,
            configuration: {
                var configuration = HTTPClient.Configuration()
                configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
                return configuration
            }())
        try await service.run { () async throws in
            let token = try await service.device("d1")
            // Another service has appended an event, and this service can't consume it.
            let append = Statement("UPDATE bus.partitions SET head = head + 1 WHERE partition = 0 RETURNING head")
            let lock = Statement("SELECT FROM bus.cursors WHERE partition = 0 FOR UPDATE")
            let holder = try await Connection.open(
                try ConnectionOptions(url: service.configuration.databaseURL), logger: service.logger)
            _ = try await holder.execute([Query(Statement("BEGIN")), Query(lock)])
            let ahead = try await service.pool.execute(Query(append))[0].decode(Int.self, at: 0)
            let codes = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        var request = HTTPClientRequest(url: "http://127.0.0.1:\(service.port)/v1/devices/d1")
                        request.headers.add(name: "Authorization", value: "Bearer \(token)")
                        request.headers.add(name: "Dormouse-Position", value: "0:\(ahead)")
                        let response = try await client.execute(request, timeout: .seconds(60))
                        let body = try await response.body.collect(upTo: 1 << 16)
                        return try JSON(parsing: body.readableBytesView)["code"]?.string
                    }
                }
                return try await group.reduce(into: [String: Int]()) { $0[$1 ?? "", default: 0] += 1 }
            }
            #expect(codes == ["behind": 16, "too_many_in_flight": 4])
            await holder.close()
        }
        try await client.shutdown()
        await service.pool.close()
    }
}
