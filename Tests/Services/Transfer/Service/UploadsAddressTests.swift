import Foundation
import Identity
import NIOHTTP1
import TestSupport
import Testing
import Timeline

/// The URL in the `Location` of an upload: clients use it unchanged.
@Suite(.tags(.database, .processes), .serialized) struct UploadAddresses {
    @Test func `Location has the host of the request`() async throws {
        let (suite, replica) = try await UploadsSuite.start()
        defer { suite.stop(replica) }
        let credential = try await Self.credential(suite)
        for host in ["uploads.example:8443", "UPLOADS.example", "127.0.0.1:1", "[::1]:8084", "a_b~c"] {
            for path in ["/files", "/uploads"] {
                let location = try await Self.location(replica, path, ["Host: \(host)", credential])
                #expect(location.hasPrefix("http://\(host)\(path)/"), "\(location)")
            }
        }
        let interim = try await Self.create(
            replica, "/uploads",
            ["Host: example", credential, "Upload-Draft-Interop-Version: 8", "Upload-Complete: ?1"])
        #expect(interim.matches(of: #/Location: http://example/uploads/\S+/#).count == 2, "the 104 has it too")
    }

    /// A path is always correct, because clients resolve it against the URL of their request.
    @Test func `Location is a path if the service does not know its own address`() async throws {
        let (suite, replica) = try await UploadsSuite.start()
        defer { suite.stop(replica) }
        let credential = try await Self.credential(suite)
        let headers = [
            ["Host: me@example"], ["Host: example/elsewhere"], ["Host: example?x"], ["Host: example:http"],
            ["Host: example:65536"], ["Host: example:"], ["Host: [::1"], ["Host: ex%61mple"], ["Host: \"example\""],
            ["Host: example", "X-Forwarded-Proto: https"], ["Host: example", "X-Forwarded-Host: other"],
            ["Host: example", "Forwarded: proto=https"],
        ]
        for lines in headers {
            let heard = try await Self.create(replica, "/files", lines + [credential])
            // If the server refuses the head, there is no `Location`.
            guard heard.hasPrefix("HTTP/1.1 201") else { continue }
            #expect(heard.contains("\r\nLocation: /files/"), "\(lines): \(heard)")
        }
        #expect(try await Self.location(replica, "/files", headers[9] + [credential]).hasPrefix("/files/"))
    }

    @Test(arguments: ["https://uploads.example", "https://uploads.example:8443/suite/"])
    func `Location begins with PUBLIC_URL for every request`(_ url: String) async throws {
        let (suite, replica) = try await UploadsSuite.start(["--public-url", url])
        defer { suite.stop(replica) }
        let credential = try await Self.credential(suite)
        let base = url.hasSuffix("/") ? String(url.dropLast()) : url
        for lines in [["Host: example"], ["Host: example", "X-Forwarded-Proto: http"]] {
            #expect(try await Self.location(replica, "/files", lines + [credential]).hasPrefix(base + "/files/"))
        }
        // Clients use the URLs from `Location` to concatenate parts.
        let part = try await replica.tus(.POST, "/files", ["Upload-Length": "3", "Upload-Concat": "partial"], "abc")
        let named = try #require(part["Location"])
        let whole = try await replica.tus(.POST, "/files", ["Upload-Concat": "final;\(named) \(named)"])
        #expect(whole.status == 201)
    }

    @Test(arguments: [
        "uploads.example", "ftp://uploads.example", "https://", "https://a/b?c", "https://u@a", "https://a b",
    ])
    func `the service does not start with an invalid PUBLIC_URL`(_ url: String) async throws {
        let process = try ChildProcess.start(ChildProcess.product("transfer"), ["serve", "--public-url", url])
        #expect(try await process.exit() == .exited(78))
        #expect(process.errors.tail().contains("PUBLIC_URL (--public-url) must be"))
    }

    /// Returns the line of a credential. Without one, the service refuses the names of other hosts.
    private static func credential(_ suite: UploadsSuite) async throws -> String {
        let tokens = try await DeviceTokens(pem: DeviceTokens.newKey(), keyID: "k1")
        _ = try await suite.sql(
            "INSERT INTO bus.token_keys VALUES ('k1', '\(TokenIssuer.service)', '\(tokens.publicKey)') RETURNING kid")
        let token = try await tokens.issue(device: "d1", fleet: "f1", id: "t", lifetime: .hours(1), position: 0)
        return "Authorization: Bearer \(token)"
    }

    private static func create(_ replica: UploadsSuite.Replica, _ path: String, _ lines: [String]) async throws
        -> String
    {
        let wire = try await UploadsWire.connect(replica.port)
        let more = ["Tus-Resumable: 1.0.0", "Upload-Length: 0", "Content-Length: 0", "Connection: close"]
        let head = ["POST \(path) HTTP/1.1"] + lines + more
        try await wire.send(head.joined(separator: "\r\n") + "\r\n\r\n")
        return try await wire.heard()
    }

    private static func location(
        _ replica: UploadsSuite.Replica, _ path: String, _ lines: [String]
    ) async throws -> String {
        let heard = try await create(replica, path, lines)
        try #require(heard.hasPrefix("HTTP/1.1 201"), "\(heard)")
        return String(try #require(heard.firstMatch(of: #/\r\nLocation: (\S+)/#)?.1))
    }
}
