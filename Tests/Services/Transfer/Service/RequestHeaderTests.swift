import Contracts
import HTTPKit
import OrderedCollections
import Records
import Testing
import TransferCore

@testable import TransferService

/// The header fields that a task and a session may have.
@Suite struct RequestHeaderTests {
    private static func field(_ name: String, _ length: Int = 1) -> OrderedDictionary<String, JSON> {
        [name: .string(String(repeating: "a", count: length))]
    }

    private static func object(_ fields: OrderedDictionary<String, JSON>) -> JSON {
        .object(fields.map { JSON.Member($0.key, $0.value) })
    }

    private static func download(_ fields: OrderedDictionary<String, JSON>) throws -> DownloadRequest {
        let document: JSON = ["url": "http://files.example/f", "headers": object(fields)]
        return try DownloadRequest(received: document.bytes)
    }

    @Test(arguments: ["Authorization", "authorization", "Cookie", "cOOKIE"])
    func `a task may have credentials, which are separated`(name: String) throws {
        let fields = Self.field(name).merging(Self.field("X-A")) { $1 }
        let separated = try Self.download(fields).headers.separated
        #expect(separated.open == ["X-A": "a"] && separated.secret?.values == [name: "a"])
        let session: JSON = ["httpAdditionalHeaders": Self.object(Self.field(name))]
        #expect(throws: DocumentError.self, "a session keeps its headers in the log") {
            try SessionConfiguration(received: session.bytes)
        }
    }

    @Test func `a request without credentials has no secret fields`() throws {
        #expect(try Self.download(Self.field("X-A")).headers.separated.secret == nil)
        #expect(try Self.download([:]).headers.separated.secret == nil)
    }

    @Test(arguments: ["Proxy-Authorization", "Host", "Range", "Content-Length", "X A", ""])
    func `a field that the transfer sets itself is refused`(name: String) {
        #expect(throws: DocumentError.self) { try Self.download(Self.field(name)) }
    }

    @Test func `credentials have a length limit of their own`() throws {
        let open = Self.field("X-A", 4096 - 3)
        let secret = Self.field("Cookie", 8192 - 6)
        #expect(throws: Never.self) { try Self.download(open.merging(secret) { $1 }) }
        #expect(throws: DocumentError.self) { try Self.download(Self.field("X-A", 4096 - 2)) }
        #expect(throws: DocumentError.self) { try Self.download(Self.field("Cookie", 8192 - 5)) }
        #expect(throws: DocumentError.self) {
            try Self.download(Self.field("Cookie", 5000).merging(Self.field("Authorization", 5000)) { $1 })
        }
    }

    @Test func `the fingerprint of a request contains no credential`() {
        let document: JSON = [
            "headers": ["cookie": "a=b", "Authorization": "Bearer b", "X-A": "b"], "url": "http://files.example/f",
        ]
        #expect(
            document.withoutSecretHeaders == [
                "headers": ["cookie": .null, "Authorization": .null, "X-A": "b"], "url": "http://files.example/f",
            ])
        let answer: JSON = ["credential": ["user": "u", "password": "p"], "password": "p"]
        #expect(
            answer.replacing("password", in: "credential") == [
                "credential": ["user": "u", "password": .null], "password": "p",
            ])
        for other: JSON in [.null, [], ["headers": "cookie"], ["headers": [["cookie": "a"]]]] {
            #expect(other.withoutSecretHeaders == other)
        }
    }

    @Test func `a resumed download sends only its credentials again`() throws {
        func command(_ headers: JSON) throws -> TransferCommand {
            let document: JSON = ["resumeData": "d", "headers": headers]
            return try DownloadRequest(received: document.bytes).command(app: "a", session: "s", secretHeaders: "h")
        }
        let changes = RequestChanges(secretHeaders: "h")
        #expect(
            try command(["Authorization": "Bearer b"])
                == .downloadResuming(app: "a", session: "s", resumeData: "d", changes))
        #expect(throws: Problem.self) { try command(["X-A": "b"]) }
    }
}
