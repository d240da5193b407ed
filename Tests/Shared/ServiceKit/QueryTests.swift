import HTTPKit
import Hummingbird
import Identity
import Records
import ServiceKit
import TestSupport
import Testing
import Timeline

/// Requests with unknown parameters, unknown routes or missing rights.
@Suite("Queries and paths", .tags(.processes), .timeLimit(.minutes(3))) struct QueryTests {
    @Test func `an unknown query parameter is refused with the known ones`() async throws {
        try await TestService.run(routes: { table in
            table.add(.get, "/v1/list", "Lists", .parameters(.pages)) { _ in Response(json: Array("[]".utf8)) }
            table.add(.get, "/page", "A page", .open, .unknownQuery(.ignored)) { _ in Response(status: .ok) }
        }) { service in
            #expect(try await service.send("GET", "/v1/list?limit=3&cursor=4").status == 200)
            let typo = try await service.send("GET", "/v1/list?limt=3&limit=3")
            #expect(typo.status == 400 && typo.code == "invalid_query")
            #expect(typo.json["detail"] == "limt is not a parameter of this route; the parameters are limit, cursor")
            #expect(typo.json["errors"]?[0]?["pointer"] == "/limt")
            let twice = try await service.send("GET", "/v1/list?limit=3&limit=4&x=1")
            #expect(twice.json["detail"] == "limit is given twice; and 1 more error")
            #expect(try await service.send("GET", "/healthz?x=1", key: nil).code == "invalid_query")
            #expect(try await service.send("GET", "/page?x=1", key: nil).status == 200)
            // A caller without a credential does not learn the parameters.
            #expect(try await service.send("GET", "/v1/list?x=1", key: nil).status == 401)
        }
    }

    @Test func `a key with the scope read is refused by every route that changes something`() async throws {
        try await TestService.run { service in
            let answer = try await service.send(
                "POST", "/v1/naps", #"{"name":"a","minutes":3}"#, key: TestService.readersKey)
            #expect(answer.status == 403 && answer.code == "forbidden")
            #expect(try await service.send("GET", "/v1/devices/d1", key: TestService.readersKey).status == 200)
        }
    }

    @Test func `the problem of a missing route names the path and the service that has it`() async throws {
        try await TestService.run { service in
            let answer = try await service.send("GET", "/v1/nothing")
            #expect(answer.json["detail"] == "This service has no route for GET /v1/nothing.")
            let other = try await service.send("GET", "/v1/devices/d/apps/a/fetches")
            #expect(
                other.json["detail"]?.string
                    == "This service has no route for GET /v1/devices/d/apps/a/fetches. The service `fetch` serves it, by "
                    + "default on port 8082.")
            let method = try await service.send("PUT", "/v1/naps", "{}")
            #expect(method.json["detail"] == "PUT is not allowed at /v1/naps; allowed: POST.")
        }
    }

    @Test func `a resource that the credential does not open is named by its path`() async throws {
        try await TestService.run { service in
            let token = try await service.tokens.issue(device: "d2", fleet: "f1", id: "t", lifetime: .hours(1))
            let answer = try await service.send("GET", "/v1/devices/d1", key: token)
            #expect(answer.status == 404)
            #expect(answer.json["detail"] == "/v1/devices/d1 does not exist, or this credential may not see it.")
        }
    }

    @Test func `the detail of an invalid document names its first fault`() async throws {
        try await TestService.run { service in
            let one = try await service.send("POST", "/v1/naps", #"{"name":"a","minutes":61}"#)
            #expect(one.json["detail"]?.string?.hasPrefix("/minutes must be") == true, "\(one.body)")
            let more = try await service.send("POST", "/v1/naps", #"{"name":"a b","minutes":61,"pillow":1}"#)
            #expect(more.json["detail"]?.string?.hasSuffix("; and 2 more errors") == true, "\(more.body)")
        }
    }
}
