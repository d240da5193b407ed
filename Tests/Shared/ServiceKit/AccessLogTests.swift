import HTTPKit
import Hummingbird
import Records
import TestSupport
import Testing

/// The access log, an option of each service.
@Suite(.tags(.processes)) struct AccessLogTests {
    private func lines(of service: TestService) throws -> [JSON] {
        try service.log.all.map { try JSON(parsing: Array($0.utf8)) }.filter { $0["message"] == "answered request" }
    }

    @Test func `each request has a line without secrets`() async throws {
        try await TestService.run(accessLog: true) { table in
            table.add(.post, "/3/device/{token}", "A push", .open) { _ in Response(json: []) }
        } _: { service in
            let trace = "0af7651916cd43dd8448eb211c80319c"
            _ = try await service.send(
                "GET", "/v1/devices/d1?cursor=abc", nil, ["traceparent": "00-\(trace)-b7ad6b7169203331-01"])
            let token = String(repeating: "ab", count: 32)
            _ = try await service.send("POST", "/3/device/\(token)", "{}", key: nil)
            _ = try await service.send("POST", "/v1/operate", "{}", key: "wrong-key")
            _ = try await service.send("GET", "/nowhere", nil, key: nil)
            let lines = try lines(of: service)
            #expect(lines.map { $0["status"] } == ["400", "200", "401", "404"])
            #expect(lines.map { $0["method"] } == ["GET", "POST", "POST", "GET"])
            #expect(lines.map { $0["route"] } == ["/v1/devices/{device}", "/3/device/{token}", "/v1/operate", "none"])
            #expect(lines.map { $0["path"] } == ["/v1/devices/d1", nil, "/v1/operate", "/nowhere"])
            #expect(lines.map { $0["caller"] } == ["operator:alice", nil, nil, nil])
            #expect(lines.first?["trace"]?.string == trace && lines.allSatisfy { $0["trace"]?.string?.count == 32 })
            #expect(lines.allSatisfy { $0["address"] == "127.0.0.1" && $0["level"] == "info" })
            #expect(lines.allSatisfy { Double($0["milliseconds"]?.string ?? "") ?? -1 >= 0 })
            let all = service.log.all.joined()
            for secret in [token, "wrong-key", TestService.operatorKey, "cursor=abc"] { #expect(!all.contains(secret)) }
        }
    }

    @Test func `there is no access log by default`() async throws {
        try await TestService.run { service in
            _ = try await service.send("GET", "/v1/devices/d1")
            #expect(try lines(of: service).isEmpty)
        }
    }
}
