import Foundation
import Glibc
import TestSupport
import Testing
import Timeline

@testable import PushService

/// Slow requests of curl, which get the reasons that no complete request gets.
@Suite(.tags(.database, .processes, .stockClient), .timeLimit(.minutes(4))) struct SlowClientsTests {
    @Test(arguments: ["/3/device/", "/4/broadcasts/apps/"])
    func `a request whose body does not arrive gets IdleTimeout`(_ path: String) async throws {
        try await PushSuite.run(["REQUEST_TIMEOUT": "5"]) { suite in
            let upload = try await Upload(suite, port: suite.apns, path)
            // curl reads the answer when it has data to send.
            try await eventually(within: 60, describe: "the request is answered") {
                try await suite.text("/metrics").contains(#"dormouse_push_provider_answers_total{status="400"} 1"#)
            }
            try upload.finish()
            #expect(try await upload.answer() == #"{"reason":"IdleTimeout"} 2 400"#)
        }
    }

    /// After GOAWAY a client begins no further request, but the rest of an earlier one may still arrive.
    /// (`ProviderServerTests` checks that GOAWAY is always sent.)
    @Test(arguments: ["/3/device/", "/4/broadcasts/apps/"])
    func `a request that ends while the server stops gets Shutdown`(_ path: String) async throws {
        try await PushSuite.run { suite in
            var answer = ""
            // curl does not report GOAWAY: its request may be complete before it, and then gets its usual answer.
            for _ in 1...6 where !answer.hasSuffix(" 503") {
                answer = try await Self.answer(whileStopping: suite, path)
            }
            #expect(answer == #"{"reason":"Shutdown"} 2 503"#)
        }
    }

    private static func answer(whileStopping suite: PushSuite, _ path: String) async throws -> String {
        let (process, port) = try await suite.another()
        let apns = try await PushSuite.apnsPort(of: process)
        // All connections get GOAWAY at once: this one reports it.
        let other = try await HTTP2Client.connect(port: apns, authority: suite.authority)
        _ = try await other.exchange(1, "POST", "/")
        let upload = try await Upload(suite, port: apns, path)
        try await eventually(describe: "both connections are open") {
            try await suite.text("/metrics", port: port).contains("dormouse_push_provider_connections 2")
        }
        process.signal(SIGTERM)
        #expect(try await other.goAway() == #"{"reason":"Shutdown"}"#)
        try upload.finish()
        let answer = try await upload.answer()
        await other.close()
        #expect(try await process.exit() == .exited(0))
        return answer
    }
}

/// A request of curl whose body comes from a pipe.
private final class Upload: Sendable {
    private let curl: ChildProcess
    private let fifo: String
    private let pipe: FileHandle

    /// Returns when curl has sent the beginning of the request.
    init(_ suite: PushSuite, port: Int, _ path: String) async throws {
        let bearer = try await suite.bearer()
        fifo = suite.certificates.appending(path: "\(UUID()).fifo").path
        try #require(mkfifo(fifo, 0o600) == 0)
        // Opened for both directions, so that opening does not block.
        pipe = FileHandle(fileDescriptor: open(fifo, O_RDWR | O_CLOEXEC), closeOnDealloc: true)
        let target = path.contains("device") ? String(repeating: "0f", count: 32) : PushSuite.app
        curl = try ChildProcess.start(
            "/bin/sh",
            [
                "-c", #"fifo=$1; shift; exec /usr/bin/curl "$@" <"$fifo""#, "curl", fifo, "--silent", "--http2",
                "--max-time", "60", "--cacert", suite.authority, "--trace-ascii", "%", "-w",
                " %{http_version} %{http_code}", "-X", "POST", "-T", ".", "-H", "authorization: bearer \(bearer)",
                "-H", "apns-topic: \(PushSuite.app)", "https://localhost:\(port)\(path)\(target)",
            ])
        try pipe.write(contentsOf: Data(#"{"aps":"#.utf8))
        try await curl.waitForLine(containing: "=> Send data", within: 60)
    }

    deinit { unlink(fifo) }

    /// Sends the rest of the request.
    func finish() throws {
        try pipe.write(contentsOf: Data("{}}".utf8))
        try pipe.close()
    }

    /// Returns the answer that curl got.
    func answer() async throws -> String {
        #expect(try await curl.exit(within: 90) == .exited(0), "\(curl.errors.tail())")
        return curl.output.tail()
    }
}
