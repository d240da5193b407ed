import Contracts
import Foundation
import Logging
import Postgres
import Records
import ServiceKit
import Telemetry
import TestSupport
import Testing
import Timeline

/// The operators' routes for parked devices.
@Suite("Parked devices over HTTP", .tags(.database), .timeLimit(.minutes(5))) struct ParkedDevicesTests {
    @Test func `dead letters are listed, and replayed once they no longer fail`() async throws {
        try await withBrittle { service, faults in
            let letters = try await park("sick", service)
            #expect(letters.map { $0["key"]?.string } == ["device:sick", "device:sick"])
            #expect(letters.map { $0["offset"]?.int } == [1, 2])
            // The second one only waits behind the first.
            #expect(letters.map { $0["reason"]?.string == nil } == [false, true])
            #expect(letters.allSatisfy { $0["due"]?.string == nil && $0["parkedAt"]?.string != nil })

            let replay = "/v1/parked/device:sick/replay"
            #expect(try await service.send("POST", replay).code == "fails_again")
            #expect(try await self.letters(service) == letters)
            #expect(try await service.send("POST", "/v1/parked/device:well/replay").code == "not_parked")
            faults.mend()
            let taken = try await service.send("POST", replay)
            #expect(taken.status == 200 && taken.json["taken"]?.int == 2)
            #expect(try await self.letters(service).isEmpty)
            let again = try await service.send("POST", replay)
            #expect(again.status == 404 && again.code == "not_parked")
        }
    }

    @Test func `the log names the device that is parked`() async throws {
        let lines = LogLines()
        let logger = Logger(label: "counter") {
            LogOutput(label: $0, level: .error, format: .json, write: lines.append)
        }
        try await withBrittle(logger: logger) { service, _ in _ = try await park("sick", service) }
        let line = try #require(lines.all.first { $0.contains("park input and its device") })
        #expect(line.contains("device:sick"), "\(line)")
    }

    @Test func `discard removes only the failed event`() async throws {
        try await withBrittle { service, _ in
            _ = try await park("sick", service)
            #expect(try await service.send("POST", "/v1/parked/device:well/discard").code == "not_parked")
            #expect(try await service.send("POST", "/v1/parked/device:sick/replay").code == "fails_again")
            let freed = try await service.send("POST", "/v1/parked/device:sick/discard")
            #expect(freed.status == 200 && freed.json["taken"]?.int == 1)
            let audit = Statement(
                "SELECT actor || ' ' || action || ' ' || subject || (details ->> 'offset') FROM bus.audit")
            let rows = try await service.pool.execute(audit).decode(String.self)
            #expect(rows == ["alice deadLetter.discarded device:sick1"], "a failed replay leaves no row")
            #expect(try await letters(service).isEmpty)
        }
    }

    @Test func `dead letters need the scope read, and replay and discard the scope operate`() async throws {
        try await withBrittle { service, _ in
            let letters = try await park("sick", service)
            let device = try await service.device("sick")
            for path in ["/v1/dead-letters", "/v1/parked/device:sick/replay", "/v1/parked/device:sick/discard"] {
                let method = path.hasSuffix("letters") ? "GET" : "POST"
                #expect(try await service.send(method, path, key: nil).status == 401, "\(path)")
                #expect(try await service.send(method, path, key: device).status == 403, "\(path)")
                let isReading = method == "GET"
                let answer = try await service.send(method, path, key: CounterService.readersKey)
                #expect(answer.status == (isReading ? 200 : 403), "\(path)")
            }
            #expect(try await self.letters(service) == letters)
        }
    }

    /// Appends an event that the machine can't handle, and one that it can.
    private func park(_ device: String, _ service: CounterService) async throws -> [JSON] {
        for data in [#"{"heavy":true}"#, "{}"] {
            try await service.pool.append(
                ForeignEvent(to: device, at: .epoch, data: data), partitions: service.configuration.partitions,
                wakesUp: false)
        }
        try await eventually(within: 90, describe: "both events are dead letters") {
            try await letters(service).count == 2
        }
        return try await letters(service)
    }

    private func letters(_ service: CounterService) async throws -> [JSON] {
        try await service.send("GET", "/v1/dead-letters").json["items"]?.items ?? []
    }

    private func withBrittle(
        logger: Logger? = nil, _ body: @Sendable @escaping (CounterService, Faults) async throws -> Void
    ) async throws {
        let service = try await CounterService.prepare()
        let faults = Faults()
        try await service.run(serving: {
            try await TestedMachine<Brittle>().serve(
                service.configuration, policy: faults, tokenIssuer: "counter",
                logger: logger ?? service.logger
            ) { _, _ in [] }
        }) { try await body(service, faults) }
        await service.pool.close()
    }
}
