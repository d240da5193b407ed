import HTTPKit
import Hummingbird
import Identity
import Logging
import Records
@testable import ServiceKit
import ServiceLifecycle
import Synchronization
import Telemetry
import TestSupport
import Testing

@Suite(.tags(.processes), .timeLimit(.minutes(5))) struct HostTests {
    @Test func `an answer to HEAD has no content`() async throws {
        try await TestService.run(routes: { table in
            table.add(.head, "/v1/naps", "The head of a nap", .open) { _ in Response(json: Array("{}".utf8)) }
        }) { service in
            // Content after an answer to HEAD would spoil the next answer on the same connection.
            for _ in 0..<30 {
                let head = try await service.send("HEAD", "/v1/naps")
                #expect(head.status == 200 && head.headers["content-length"] == "2")
                let nowhere = try await service.send("HEAD", "/v1/nowhere")
                #expect(nowhere.status == 404)
                let alive = try await service.send("GET", "/healthz")
                #expect(alive.status == 200)
            }
        }
    }

    @Test func `a request in progress is answered after a shutdown begins`() async throws {
        let (entered, mayGo) = (Gate(), Gate())
        try await TestService.run(routes: { table in
            table.add(.get, "/v1/slow", "Waits", .open) { _ in
                entered.open()
                await mayGo.wait()
                return Response(json: Array("{}".utf8))
            }
        }) { service async throws in
            async let answer = service.send("GET", "/v1/slow")
            await entered.wait()
            await service.group.triggerGracefulShutdown()
            mayGo.open()
            #expect(try await answer.status == 200)
        }
    }

    @Test func `a port in use is reported in one line`() async throws {
        try await TestService.run { service in
            let host = ServiceHost(
                name: "naps", configuration: try ServiceConfiguration.reading("--port", String(service.port)),
                responder: RouteTable().responder(
                    authenticator: Authenticator(operators: OperatorKeyring(), tokens: DeviceTokenVerifier()),
                    metrics: Metrics()), services: [], logger: Logger(label: "naps") { _ in SwiftLogNoOpLogHandler() })
            await #expect(throws: StartupError.portInUse(service.port)) { try await host.run() }
            #expect(
                StartupError.portInUse(8081).description
                    == "port 8081 is in use: stop the process that listens on it, or choose another with --port")
        }
    }

    @Test func `a full service refuses at once and stays healthy`() async throws {
        let (entered, mayGo) = (Gate(), Gate())
        try await TestService.run(
            slots: .of(1),
            routes: { table in
                table.add(.get, "/v1/slow", "Waits") { _ in
                    entered.open()
                    await mayGo.wait()
                    return Response(json: Array("{}".utf8))
                }
            }
        ) { service in
            async let slow = service.send("GET", "/v1/slow")
            await entered.wait()
            let refused = try await service.send("GET", "/v1/devices/d1")
            #expect(refused.status == 503)
            #expect(refused.code == "busy")
            #expect(refused.headers["retry-after"] == "1")
            #expect(try await service.send("GET", "/healthz").status == 200)
            mayGo.open()
            #expect(try await slow.status == 200)
            #expect(try await service.send("GET", "/v1/devices/d1").status == 200)
        }
    }

    @Test func `readyz names the failed checks`() async throws {
        let checks = [HealthCheck("database") { nil }, HealthCheck("listener") { "reconnecting" }]
        try await TestService.run(checks: checks) { service in
            let answer = try await service.send("GET", "/readyz", key: nil)
            #expect(answer.status == 503)
            #expect(answer.code == "not_ready")
            #expect(answer.json["errors"] == [["detail": "reconnecting", "pointer": "/listener"]])
        }
        try await TestService.run(checks: [checks[0]]) { service async throws in
            #expect(try await service.send("GET", "/readyz").json["checks"] == ["database": "ok"])
        }
    }

    @Test func `a shared condition prevents readiness only before its first success`() async throws {
        let isBroken = Atomic(true)
        let isFull = Atomic(false)
        let checks = [
            HealthCheck("database", .notReadyAtStart) { isBroken.load(ordering: .relaxed) ? "it fails" : nil },
            HealthCheck("partitions") { isFull.load(ordering: .relaxed) ? "one is stuck" : nil },
            HealthCheck("days", .reported) { "too few" },
        ]
        let metrics = Metrics()
        let readiness = Readiness(
            checks, metrics: metrics, logger: Logger(label: "naps") { _ in SwiftLogNoOpLogHandler() })
        func judged() async -> [Bool] {
            await readiness.judge()
            return [readiness.isReady]
        }
        #expect(await judged() == [false], "the condition has not held yet")
        isBroken.store(false, ordering: .relaxed)
        #expect(await judged() == [true])
        isBroken.store(true, ordering: .relaxed)
        #expect(await judged() == [true], "another replica would not do better")
        #expect(metrics.text.contains(#"dormouse_check_failing{check="database"} 1"#))
        isFull.store(true, ordering: .relaxed)
        #expect(await judged() == [false], "another replica would do better")
        isFull.store(false, ordering: .relaxed)
        #expect(await judged() == [true])
        readiness.drain()
        #expect(await judged() == [false])
    }

    @Test func `a service announces itself when it is ready, not when it listens`() async throws {
        let isBroken = Atomic(true)
        let readiness = Readiness(
            [HealthCheck("database") { isBroken.load(ordering: .relaxed) ? "it fails" : nil }],
            metrics: Metrics(), logger: Logger(label: "naps") { _ in SwiftLogNoOpLogHandler() })
        let ports = AsyncStream<Int>.makeStream()
        let told = Mutex<[Int]>([])
        let announcement = Announcement(ports: ports.stream, readiness: readiness) { port in
            told.withLock { $0.append(port) }
        }
        let running = Task { try await announcement.run() }
        ports.continuation.yield(8081)
        ports.continuation.finish()
        for _ in 0..<3 {
            await readiness.judge()
            await Task.yield()
        }
        #expect(told.withLock { $0 } == [], "it listens, but is not ready")
        isBroken.store(false, ordering: .relaxed)
        await readiness.judge()
        try await eventually(describe: "the service is announced") { told.withLock { $0 } == [8081] }
        running.cancel()
        try await running.value
    }

    @Test func `requests are answered while readyz announces the shutdown`() async throws {
        try await TestService.run(settings: ["--drain-seconds", "2"]) { service in
            #expect(try await service.send("GET", "/readyz", key: nil).status == 200)
            await service.group.triggerGracefulShutdown()
            try await eventually(describe: "the service is not ready") {
                try await service.send("GET", "/readyz", key: nil).status == 503
            }
            let answer = try await service.send("GET", "/readyz", key: nil)
            #expect(answer.json["detail"] == "the service is shutting down", "\(answer.body)")
            #expect(try await service.send("GET", "/v1/devices/d1").status == 200)
        }
    }

    @Test func `requests are counted by route and not by path`() async throws {
        try await TestService.run { service in
            _ = try await service.send("GET", "/v1/devices/d1")
            _ = try await service.send("PROPFIND", "/v1/devices/d2")
            let text = try await service.send("GET", "/metrics", key: nil).body
            #expect(
                text.contains(
                    #"dormouse_http_requests_total{method="GET",route="/v1/devices/{device}",status="200"} 1"#))
            #expect(text.contains(#"method="other""#))
            #expect(!text.contains("d1\""))
        }
    }

    @Test func `the API description has every route with its schemas and problem codes`() async throws {
        try await TestService.run { service in
            let paths = try await service.send("GET", "/openapi.json", key: nil).json["paths"]
            let names = try #require(paths?.members).map(\.name)
            #expect(Set(["/v1/naps", "/openapi.json", "/readyz"]).isSubset(of: names))
            let nap = paths?["/v1/naps"]?["post"]
            let schema = nap?["requestBody"]?["content"]?["application/json"]?["schema"]
            #expect(schema?["required"] == ["name", "minutes"])
            #expect(nap?["responses"]?["422"]?["description"]?.string?.contains("invalid_document") == true)
            #expect(paths?["/v1/devices/{device}"]?["get"]?["parameters"]?[0]?["name"] == "device")
            #expect(nap?["parameters"]?[0]?["name"] == "Idempotency-Key" && nap?["parameters"]?[0]?["in"] == "header")
            #expect(nap?["responses"]?["422"]?["description"]?.string?.contains("idempotency_conflict") == true)
            #expect(nap?["responses"]?["400"]?["description"]?.string?.contains("invalid_header") == true)
            let film = paths?["/v1/films"]?["post"]
            #expect(film?["parameters"] == nil, "the route does not honour Idempotency-Key")
            #expect(film?["responses"]?["422"] == nil)
            #expect(film?["responses"]?["400"]?["description"] == "`invalid_query`")
        }
    }
}
