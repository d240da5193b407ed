import HTTPKit
import HTTPTypes
import Records
import Runtime
import ServiceKit
import Telemetry
import TestSupport
import Testing

@Suite(.tags(.processes)) struct ProblemTests {
    @Test func `an invalid document is answered with every fault and its pointer`() async throws {
        try await TestService.run { service in
            let answer = try await service.send("POST", "/v1/naps", #"{"name":"a b","minutes":61,"pillow":1}"#)
            #expect(answer.status == 422)
            #expect(answer.headers["content-type"] == "application/problem+json")
            #expect(answer.json["type"] == "urn:dormouse:problem:invalid_document")
            #expect(answer.json["status"] == 422)
            let pointers = answer.json["errors"]?.items?.compactMap { $0["pointer"]?.string }
            #expect(pointers == ["/name", "/minutes", "/pillow"])
        }
    }

    @Test(arguments: [
        ("POST", "/v1/naps", #"{"name":"#, 400, "malformed_json"),
        ("POST", "/v1/naps", "", 400, "malformed_json"),
        ("POST", "/v1/naps", String(repeating: " ", count: 64 * 1024 + 1), 413, "body_too_large"),
        ("PUT", "/v1/naps", "{}", 405, "method_not_allowed"),
        ("GET", "/v1/nothing", nil, 404, "not_found"),
        ("GET", "/v1/devices/a%20b", nil, 400, "invalid_identifier"),
        ("GET", "/v1/broken", nil, 500, "internal_error"),
    ])
    func `bad requests have stable problem codes`(
        _ method: String, _ path: String, _ body: String?, _ status: Int, _ code: String
    ) async throws {
        try await TestService.run { service in
            let answer = try await service.send(method, path, body)
            #expect(answer.status == status)
            #expect(answer.code == code)
            if status == 405 { #expect(answer.headers["allow"] == "POST") }
        }
    }

    @Test func `a body that is not JSON is refused with 415`() async throws {
        try await TestService.run { service in
            let answer = try await service.send("POST", "/v1/naps", "{}", ["Content-Type": "text/plain"])
            #expect(answer.status == 415)
            #expect(answer.code == "unsupported_media_type")
        }
    }

    @Test func `a JSON content type may have parameters and any case`() async throws {
        try await TestService.run { service in
            let answer = try await service.send(
                "POST", "/v1/naps", #"{"name":"a","minutes":3}"#, ["Content-Type": "Application/JSON; charset=utf-8"])
            #expect(answer.status == 201)
            #expect(answer.body == #"{"minutes":3,"name":"a"}"#)
            #expect(answer.headers["etag"] == "\"1\"")
        }
    }

    @Test func `an internal error is logged once and the answer has no details`() async throws {
        try await TestService.run { service in
            let answer = try await service.send("GET", "/v1/broken")
            #expect(!answer.body.contains("bus.events"))
            let lines = service.log.all.filter { $0.contains("failed to process request") }
            #expect(lines.count == 1)
            #expect(lines.first?.contains("bus.events") == true)
        }
    }

    @Test func `an internal error has the trace id of its log lines`() async throws {
        try await TestService.run { service in
            let id = "4bf92f3577b34da6a3ce929d0e0e4736"
            let answer = try await service.send(
                "GET", "/v1/broken", nil, ["traceparent": "00-\(id)-00f067aa0ba902b7-01"])
            #expect(answer.status == 500 && answer.json["trace"]?.string == id)
            #expect(service.log.all.contains { $0.contains("failed to process request") && $0.contains(id) })
            let refused = try await service.send("GET", "/v1/nothing")
            #expect(refused.status == 404 && refused.json["trace"] == nil)
            let description = try await service.send("GET", "/openapi.json", key: nil).json
            #expect(description["components"]?["schemas"]?["Problem"]?["properties"]?["trace"] != nil)
        }
    }

    @Test func `an answer continues the caller's trace`() async throws {
        try await TestService.run { service in
            let id = "4bf92f3577b34da6a3ce929d0e0e4736"
            let sent = "00-\(id)-00f067aa0ba902b7-01"
            let answer = try await service.send("GET", "/v1/nothing", nil, ["traceparent": sent])
            let back = try #require(answer.headers["traceparent"].flatMap(Traceparent.init))
            #expect(back.traceID == id)
            #expect(back.description != sent)
            let fresh = try await service.send("GET", "/healthz", nil, ["traceparent": "00-0-0-0"])
            #expect(fresh.headers["traceparent"].flatMap(Traceparent.init) != nil)
        }
    }

    @Test(arguments: [
        ("\"7\"", 304), ("W/\"7\"", 304), ("*", 304), ("\"6\", \"7\"", 304), ("\"6\"", 200), ("7", 200),
    ])
    func `If-None-Match with the current tag gets 304`(_ tag: String, _ status: Int) async throws {
        try await TestService.run { service in
            let answer = try await service.send("GET", "/v1/devices/d1", nil, ["If-None-Match": tag])
            #expect(answer.status == status)
            #expect(answer.headers["etag"] == "\"7\"")
            #expect(answer.body.isEmpty == (status == 304))
            #expect((answer.headers["content-type"] == nil) == (status == 304))
            let made = try await service.send(
                "POST", "/v1/naps", #"{"name":"a","minutes":3}"#, ["If-None-Match": "\"1\""])
            #expect(made.status == 201, "If-None-Match has no effect on POST")
        }
    }

    @Test(arguments: [("\"7\"", 200), ("*", 200), ("\"6\", \"7\"", 200), ("\"6\"", 412), ("W/\"7\"", 412)])
    func `If-Match with another tag gets 412`(_ tag: String, _ status: Int) async throws {
        try await TestService.run { service in
            let answer = try await service.send("GET", "/v1/devices/d1", nil, ["If-Match": tag])
            #expect(answer.status == status)
            #expect(answer.code == (status == 412 ? "precondition_failed" : nil))
            if status == 200 { #expect(answer.headers["etag"] == "\"7\"") }
        }
    }

    @Test(arguments: [
        (RuntimeError.overloaded, "overloaded"), (.stopping, "stopping"), (.eventsLost, "events_lost"),
        (.databaseUnavailable, "database_unavailable"), (.outcomeUnknown, "outcome_unknown"),
    ])
    func `a temporary error has a Retry-After`(_ error: RuntimeError, _ code: String) {
        let problem = Problem(error)
        #expect(problem.status == .serviceUnavailable)
        #expect(problem.code == code)
        #expect(problem.retryAfter == 1)
    }
}
