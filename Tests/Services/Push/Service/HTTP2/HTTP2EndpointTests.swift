import Contracts
import Foundation
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOSSL
import Records
import TestSupport
import Testing
import Timeline

@testable import PushService

/// The provider endpoint of a running process, over its three transports.
@Suite(.tags(.database, .processes, .stockClient), .timeLimit(.minutes(4))) struct HTTP2EndpointTests {
    @Test func `a notification arrives with and without TLS and binds its connection`() async throws {
        try await PushSuite.run(["ACCESS_LOG": "true", "LOG_LEVEL": "info"]) { suite in
            let token = try await suite.makeDevice("phone")
            let bearer = try await suite.signer.token(issuedAt: RealClock().now)
            let headers = [("authorization", "bearer \(bearer)"), ("apns-topic", "com.example.app")]
            let body = Array(#"{"aps":{"alert":"hi"}}"#.utf8)
            let clients = [
                try await HTTP2Client.connect(port: suite.apns, authority: suite.authority),
                // HTTP/2 with prior knowledge, on the service's own port.
                try await HTTP2Client.connect(port: suite.push, authority: nil),
            ]
            for client in clients {
                let sent = try await client.exchange(1, "POST", "/3/device/\(token)", headers, body: body)
                #expect(sent.status == "200" && sent.endedOnHeaders, "\(sent.text)")
                #expect(sent.headers.first(name: "apns-id") != nil)
                // A `host` header instead of `:authority`.
                let host = HPACKHeaders(
                    [(":method", "POST"), (":path", "/3/device/\(token)"), (":scheme", "https"), ("host", "localhost")]
                        + headers)
                try await client.send(3, .headers(.init(headers: host, endStream: false)))
                try await client.send(3, .data(.init(data: .byteBuffer(ByteBuffer(bytes: body)), endStream: true)))
                #expect(try await client.answer(3).status == "200")
                // A new token of the same team too early, and a token of another team.
                let fresh = try await suite.signer.token(issuedAt: RealClock().now - .minutes(1))
                let early = try await client.exchange(
                    5, "POST", "/3/device/\(token)",
                    [("authorization", "bearer \(fresh)"), ("apns-topic", "com.example.app")], body: body)
                #expect(early.text == #"{"reason":"TooManyProviderTokenUpdates"}"#)
                #expect(try await client.exchange(7, "GET", "/v1/provider-keys").text == #"{"reason":"BadPath"}"#)
                await client.close()
            }
            // The objectives of the service include its providers, and the access log has them without the tokens.
            let metrics = try await suite.text("/metrics")
            let series = #"dormouse_http_requests_total{method="POST",route="/3/device/{token}",status="200"} 4"#
            #expect(metrics.contains(series + "\n"))
            #expect(metrics.contains(#"duration_seconds_count{route="/3/device/{token}"} 6"# + "\n"))
            try await eventually(describe: "the lines of the access log") {
                let all = suite.pushLines.filter { $0.contains("answered request") }
                let lines = all.filter { $0.contains("/3/device/{token}") && $0.contains("team:TEAMTEAM01") }
                return lines.count == 6 && !all.contains { $0.contains(token) }
            }
            // The service's own port still supports HTTP/1.1.
            #expect(try await suite.send("GET", "/healthz").status == 200)
        }
    }

    @Test func `a certificate is valid for its topic and environment`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("phone")
            let body = Array(#"{"aps":{"alert":"hi"}}"#.utf8)
            let authority = try DevelopmentAuthority.open(suite.certificates)
            func send(
                _ topic: String, _ environments: [String], days: Int = 1, _ headers: [(String, String)] = []
            ) async throws -> String {
                let file = suite.certificates.appending(path: "\(UUID()).pem")
                let issued = try authority.issueClientCertificate(
                    topic: topic, environments: environments.compactMap { .init(rawValue: $0) }, days: days)
                try (issued.certificate + "\n" + issued.key).write(to: file, atomically: true, encoding: .utf8)
                let client = try await HTTP2Client.connect(
                    port: suite.apns, authority: suite.authority, certificate: file.path)
                let answer = try await client.exchange(1, "POST", "/3/device/\(token)", headers, body: body)
                await client.close()
                return answer.status == "200" ? "200" : answer.text
            }
            let app = "com.example.app"
            // Without a topic, and with a token that is ignored.
            #expect(try await send(app, [], [("authorization", "bearer rubbish")]) == "200")
            #expect(try await send(app, ["sandbox"], [("apns-topic", app)]) == "200")
            #expect(try await send(app, ["production"]) == #"{"reason":"BadCertificateEnvironment"}"#)
            #expect(try await send(app, [], days: 0) == #"{"reason":"BadCertificate"}"#)
            #expect(try await send(app, [], [("apns-topic", "com.other")]) == #"{"reason":"TopicDisallowed"}"#)
            #expect(try await send("com.other", []) == #"{"reason":"DeviceTokenNotForTopic"}"#)
            let location = [("apns-push-type", "location"), ("apns-topic", app + ".location-query")]
            #expect(try await send(app, [], location) == #"{"reason":"Forbidden"}"#)
        }
    }

    @Test func `a resumed session still has its certificate`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("phone")
            let authority = try DevelopmentAuthority.open(suite.certificates)
            let issued = try authority.issueClientCertificate(topic: "com.example.app", environments: [])
            let file = suite.certificates.appending(path: "client.pem").path
            #expect(PrivateFile.write(issued.certificate + "\n" + issued.key, to: file))
            let script = try #require(
                Bundle.module.path(forResource: "resumed_session", ofType: "py", inDirectory: "Python"))
            let lines = try await PythonEnvironment.make().run(
                script, ["\(suite.apns)", suite.authority, file, "/3/device/\(token)"])
            #expect(lines == ["False 200 ", "True 200 "])
        }
    }

    @Test func `curl uses HTTP2 with the development authority`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("phone")
            let bearer = try await suite.signer.token(issuedAt: RealClock().now)
            func curl(_ arguments: [String]) async throws -> String {
                let process = try ChildProcess.start(
                    "/usr/bin/curl",
                    ["--silent", "--show-error", "--max-time", "20", "-o", "-", "-w", "%{http_version} %{http_code}"]
                        + arguments)
                #expect(try await process.exit() == .exited(0), "\(process.errors.tail())")
                return process.output.tail()
            }
            let push = [
                "-H", "authorization: bearer \(bearer)", "-H", "apns-topic: com.example.app", "-d",
                #"{"aps":{"alert":"hi"}}"#,
            ]
            let path = "/3/device/\(token)"
            let trust = ["--cacert", suite.authority]
            #expect(try await curl(["--http2"] + trust + push + ["https://localhost:\(suite.apns)\(path)"]) == "2 200")
            #expect(
                try await curl(push + ["--http2-prior-knowledge", "http://localhost:\(suite.push)\(path)"]) == "2 200")
            #expect(try await curl(push + ["http://localhost:\(suite.push)\(path)"]) == "1.1 200")
            // The answer to another protocol names the supported one.
            let told = try await curl(["--http1.1"] + trust + ["https://localhost:\(suite.apns)\(path)"])
            #expect(told.contains("HTTP/2 only") && told.hasSuffix("1.1 505"))
        }
    }
}

extension PushSuite {
    /// The certificate file that clients trust.
    var authority: String { certificates.appending(path: "ca.pem").path }
}
