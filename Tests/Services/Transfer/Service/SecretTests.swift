import Foundation
import Logging
import NIOCore
import NIOHTTP1
import Postgres
import Records
import Synchronization
import TestSupport
import Testing

@testable import TransferService

/// Credentials of apps are stored in one table and nowhere else.
@Suite(.tags(.database, .processes), .serialized) struct Secrets {
    /// A credential for one scheme, and its texts that must not leak.
    private struct Secret {
        let path: String
        let answer: String
        let texts: [String]
    }

    private static let user = "Aladdin"
    private static let basic = "open-sesame-basic"
    private static let digest = DigestOrigin.password
    /// The token in the `Authorization` of requests.
    private static let token = "mF_9.B5f-4.1JqM"
    private static let encoded = Data("\(user):\(basic)".utf8).base64EncodedString()

    private static let all = [
        Secret(
            path: "/basic", answer: #"{"user":"\#(user)","password":"\#(basic)"}"#, texts: [basic, encoded]),
        Secret(
            path: "/digest",
            answer: String(
                decoding: JSON.object(["user": .string("Mufasa"), "password": .string(digest)]).bytes, as: UTF8.self),
            // JSON escapes the quotes of the password, so a part without quotes is searched too.
            texts: [digest, "Circle of"]),
    ]
    private static let texts = all.flatMap(\.texts) + [unwanted, token]
    /// A credential that is given only in refused calls.
    private static let unwanted = "given-in-vain"

    private static func text(_ answer: String, _ disposition: String = "useCredential") -> String {
        #"{"disposition":"\#(disposition)","credential":\#(answer)}"#
    }

    /// Starts a server that asks for credentials. Its first response to a correct credential is not HTTP.
    private static func origin(tls: Bool) async throws -> (CannedServer, url: String) {
        let broken = FirstTimes()
        let digests = DigestOrigin(DigestOrigin.Kind(algorithm: "SHA-256", hasQop: true))
        let answer: CannedServer.Answer = { request in
            let text =
                switch request.path {
                case "/digest": digests.answer(request)
                case "/token":
                    request.headers["Authorization"] == ["Bearer " + token]
                        && request.headers["Cookie"] == ["a=" + token]
                        ? ok("in") : status(401, #"WWW-Authenticate: Bearer realm="files""#)
                default:
                    request.headers["Authorization"] == ["Basic " + encoded]
                        ? ok("in") : status(401, #"WWW-Authenticate: Basic realm="files""#)
                }
            guard text == ok("in"), broken.isFirst(request.path) else { return text }
            return "this is no HTTP\r\n\r\n" + CannedServer.close
        }
        guard tls else {
            let server = try await CannedServer.start(answer)
            return (server, server.url(""))
        }
        let certificate = try TestCertificate(names: ["elsewhere.example"])
        let server = try await CannedServer.start(tls: try certificate.server, answer)
        return (server, "https://localhost:\(server.port)")
    }

    @Test(arguments: [false, true]) func `credentials are only in their own table`(tls: Bool) async throws {
        let (server, url) = try await Self.origin(tls: tls)
        let (suite, transfer) = try await TransferSuite.start(origins: [url], logLevel: "trace")
        defer { transfer.signal(SIGTERM) }
        try await suite.prepare("phone")
        if tls { try await trust(url, suite) }
        for secret in Self.all {
            let task = try await suite.download(url + secret.path)
            let challenge = try await suite.challenge(of: task)
            try await giveInVain(challenge, secret, suite)
            let answered = try await suite.answer(
                challenge, Self.text(secret.answer), headers: ["Idempotency-Key": "key-\(task)"])
            #expect(answered.status == 200)
            let done = try await suite.completed(task)
            #expect(done["error"] == .null && done.ends.contains("connectionLost"), "\(secret.path)")
        }
        try await sendHeaders(url + "/token", suite)
        #expect(server.requests > 0)
        #expect(try await tables(suite) == ["transfer.credentials"])
        try await swept(suite)

        transfer.signal(SIGTERM)
        _ = try await transfer.exit()
        let lines = transfer.output.lines + transfer.errors.lines
        #expect(lines.contains { $0.contains("debug") || $0.contains("trace") }, "the log level is low enough")
        for line in lines { #expect(!Self.texts.contains { line.contains($0) }, "\(line)") }
    }

    /// Trusts the certificate of the server, whose fingerprint is not secret.
    private func trust(_ url: String, _ suite: TransferSuite) async throws {
        let task = try await suite.download(url + "/basic")
        let challenge = try await suite.challenge(of: task)
        let fingerprint = try await suite.task(task)["challenge"]?["fingerprint"]?.string
        let answered = try await suite.answer(challenge, Self.text(#"{"fingerprint":"\#(fingerprint ?? "")"}"#))
        #expect(answered.status == 200)
        try await suite.call(
            .POST, suite.transferPort, "\(Downloads.session("phone"))/tasks/\(task)/cancel")
    }

    /// Checks that the secret header fields of a task are in their own table alone, and go when it ends.
    private func sendHeaders(_ url: String, _ suite: TransferSuite) async throws {
        let headers = #"{"authorization":"Bearer \#(Self.token)","Cookie":"a=\#(Self.token)","X-Open":"x"}"#
        let session = Downloads.session("phone")
        let body =
            #"{"resume":true,"url":"\#(url)","headers":\#(headers),"earliestBeginDate":"2099-01-01T00:00:00.000Z"}"#
        let waiting = try await suite.call(.POST, suite.transferPort, session + "/downloads", body)
        let number = try #require(waiting.json["task"]?.int)
        #expect(try await tables(suite, of: [Self.token]) == ["transfer.request_headers"])
        for path in ["", "/timeline"] {
            let read = try await suite.call(.GET, suite.transferPort, "\(session)/tasks/\(number)\(path)")
            #expect(!String(buffer: read.body).contains(Self.token), "\(path)")
        }
        try await suite.call(.POST, suite.transferPort, "\(session)/tasks/\(number)/cancel")
        try await headersAreGone(suite)

        let task = try await suite.call(
            .POST, suite.transferPort, session + "/downloads", #"{"resume":true,"url":"\#(url)","headers":\#(headers)}"#
        )
        let done = try await suite.completed(try #require(task.json["task"]?.int))
        #expect(done["response"]?["status"]?.int == 200 && done.ends == ["connectionLost", "finished"])
        try await headersAreGone(suite)

        // A request without its fields is another request: the task fails and the origin sees none.
        let lost = try await suite.call(
            .POST, suite.transferPort, session + "/downloads", #"{"url":"\#(url)","headers":\#(headers)}"#)
        let last = try #require(lost.json["task"]?.int)
        _ = try await suite.sql("DELETE FROM transfer.request_headers")
        try await suite.call(.POST, suite.transferPort, "\(session)/tasks/\(last)/resume")
        let failed = try await suite.completed(last)
        #expect(failed["error"]?["code"]?.int == -1013, "\(failed)")

        let refused = try await suite.send(
            .POST, suite.transferPort, session + "x/downloads", headers: ["Content-Type": "application/json"],
            ByteBuffer(string: #"{"resume":true,"url":"\#(url)","headers":\#(headers)}"#))
        #expect(refused.status == 404 && !String(buffer: refused.body).contains(Self.token))
        #expect(try await suite.sql("SELECT count(*) FROM transfer.request_headers") == "0")
    }

    private func headersAreGone(_ suite: TransferSuite) async throws {
        try await eventually(within: 60, describe: "the header fields of the ended task are removed") {
            try await suite.sql("SELECT count(*) FROM transfer.request_headers") == "0"
        }
    }

    /// Gives answers that the service refuses.
    private func giveInVain(_ challenge: String, _ secret: Secret, _ suite: TransferSuite) async throws {
        let right = #"{"user":"u","password":"\#(Self.unwanted)"}"#
        for (id, text) in [
            (challenge, Self.text(#"{"fingerprint":"\#(Self.unwanted)"}"#)), ("unknown", Self.text(right)),
            (challenge, Self.text(right, "performDefaultHandling")),
            (challenge, Self.text(#"{"secret":"\#(Self.unwanted)"}"#)),
            (challenge, #"{"disposition":"useCredential","credential":"\#(Self.unwanted)"}"#),
            (challenge, #"{"disposition":"\#(Self.unwanted)"}"#), (challenge, Self.unwanted),
        ] {
            let answer = try await suite.answer(id, text)
            #expect((400..<500).contains(answer.status), "\(text)")
            #expect(!String(buffer: answer.body).contains(Self.unwanted), "\(text)")
        }
        #expect(try await !tables(suite, of: [Self.unwanted]).contains("transfer.credentials"), "none is stored")
    }

    /// Checks that a sweep keeps credentials while their session exists and removes them after it.
    private func swept(_ suite: TransferSuite) async throws {
        let logger = Logger(label: "sweep")
        let options = try ConnectionOptions(url: suite.cluster.url(database: suite.database))
        let pool = ConnectionPool(options, size: 1, logger: logger)
        let store = TransferStore(pool: pool, partitions: 16)
        let sweep = CredentialSweep(
            store: store, states: FileReferences(store: store), age: .zero, logger: logger)
        try await sweep.sweep()
        #expect(try await tables(suite) == ["transfer.credentials"])
        try await suite.call(
            .POST, suite.transferPort, Downloads.session("phone") + "/invalidate-and-cancel")
        for task in 1...6 {
            _ = try await suite.send(
                .POST, suite.transferPort,
                Downloads.session("phone") + "/callbacks/didFinishDownloadingTo/completion",
                headers: ["Content-Type": "application/json"], ByteBuffer(string: #"{"task":\#(task)}"#))
        }
        try await eventually(within: 60, describe: "the session has ended") {
            try await suite.events("phone").contains("transfer.session.ended")
        }
        // The secrets of a device whose state is unreadable may be in use.
        _ = try await suite.sql(
            """
            INSERT INTO transfer.states (partition, key, state, machine_version, version, event_count, decided_at)
            SELECT partition, 'device:broken', '\\x00', machine_version, version, 1, 0 FROM transfer.states LIMIT 1;
            INSERT INTO transfer.credentials (partition, device, challenge, credential, stored_at)
            SELECT partition, key, 'c', '\\x00', now() FROM transfer.states WHERE key = 'device:broken'
            """)
        try await sweep.sweep()
        await pool.close()
        #expect(try await tables(suite) == [])
        #expect(try await suite.sql("SELECT device FROM transfer.credentials") == "device:broken")
        try await headersOfNewAppStay(suite)
    }

    /// Checks that the end of an app removes only fields from before it: the app may be installed again already.
    private func headersOfNewAppStay(_ suite: TransferSuite) async throws {
        _ = try await suite.sql(
            """
            INSERT INTO transfer.request_headers (partition, device, id, app, fields, stored_at)
            SELECT partition, key, n::text, 'app', '\\x00', now() + n * interval '1 hour'
            FROM transfer.states, generate_series(0, 1) AS n WHERE key = 'device:phone'
            """)
        try await suite.call(.DELETE, suite.lifecyclePort, "/v1/devices/phone/apps/app")
        try await eventually(within: 60, describe: "the header fields of the uninstalled app are removed") {
            try await suite.sql("SELECT id FROM transfer.request_headers") == "1"
        }
    }

    /// Returns the tables that contain one of the texts, as text or as bytes.
    private func tables(_ suite: TransferSuite, of texts: [String] = Secrets.texts) async throws -> [String] {
        let all = try await suite.sql(
            """
            SELECT oid::regclass FROM pg_class WHERE relkind = 'r'
                AND relnamespace::regnamespace::text NOT IN ('pg_catalog', 'information_schema')
            """
        ).split(separator: "\n").map(String.init)
        #expect(all.contains("transfer.states") && all.contains("bus.idempotency"))
        let forms = texts.flatMap { text in [text, text.utf8.map { String(format: "%02x", $0) }.joined()] }
        let wanted = forms.map { "'\($0.replacing("'", with: "''"))'" }.joined(separator: ",")
        let queries = all.map { table in
            "SELECT '\(table)' FROM \(table) AS t, unnest(array[\(wanted)]) AS s WHERE strpos(t::text, s) > 0"
        }
        return Set(try await suite.sql(queries.joined(separator: " UNION ")).split(separator: "\n").map(String.init))
            .sorted()
    }
}

/// Remembers which names it has seen.
private final class FirstTimes: Sendable {
    private let seen = Mutex<Set<String>>([])

    func isFirst(_ name: String) -> Bool { seen.withLock { $0.insert(name).inserted } }
}
