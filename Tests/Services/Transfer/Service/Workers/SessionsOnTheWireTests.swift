import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// The effect of a session's configuration on the requests of its tasks.
@Suite(.tags(.database, .processes), .serialized) struct SessionsOnTheWire {
    /// Runs with a session that has this configuration.
    private func run(
        _ configuration: String, _ script: [String: [String]],
        _ body: (TransferSuite, ScriptedServer) async throws -> Void
    ) async throws {
        let server = try await ScriptedServer.start(script)
        let (suite, transfer) = try await TransferSuite.start(origins: [server.origin])
        defer { transfer.signal(SIGTERM) }
        try await suite.prepare("phone", configuration)
        try await body(suite, server)
    }

    /// Responses are not cached: each request is sent like the first.
    @Test func `requests have the headers of session and task and no cache validators`() async throws {
        let fields = ["ETag: \"a\"", "Cache-Control: max-age=3600", "Last-Modified: Mon, 06 Jan 2025 08:00:00 GMT"]
        let configuration = """
            {"httpAdditionalHeaders":{"X-Session":"s","X-Both":"session","User-Agent":"app/1"}}
            """
        try await run(configuration, ["/": [answer(200, fields, "in")]]) { suite, server in
            for task in 1...2 {
                try await suite.call(
                    .POST, suite.transferPort, Downloads.session("phone") + "/downloads",
                    #"{"resume":true,"url":"\#(server.url("/"))","headers":{"x-both":"task","X-Task":"t"}}"#)
                #expect(try await suite.completed(task)["error"] == .null)
            }
            let requests = server.requests("/")
            #expect(requests.count == 2)
            for headers in requests.map(\.headers) {
                #expect(headers["X-Session"] == ["s"] && headers["X-Task"] == ["t"])
                #expect(headers["X-Both"] == ["task"], "headers of the task win")
                #expect(headers["User-Agent"] == ["app/1"])
                #expect(headers["Accept-Encoding"] == ["identity"])
                for name in ["If-None-Match", "If-Modified-Since", "If-Range", "Range"] {
                    #expect(headers[name] == [], "\(name)")
                }
            }
        }
    }

    @Test func `timeoutIntervalForRequest without a byte ends an attempt`() async throws {
        try await run(#"{"timeoutIntervalForRequest":1}"#, ["/": ["", ok("in")]]) { suite, server in
            try await suite.download(server.url("/"))
            let done = try await suite.completed(1)
            #expect(done["error"] == .null && done.ends.last == "finished")
            // On a slow machine more than one attempt may time out.
            #expect(Set(done.ends.dropLast()) == ["timedOut"])
        }
    }
}
