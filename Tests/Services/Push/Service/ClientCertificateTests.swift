import Contracts
import Foundation
import Logging
import NIOHPACK
import NIOSSL
import Postgres
import Records
import ServiceKit
import SwiftASN1
import TestSupport
import Testing
import X509

@testable import PushService

/// Client certificates instead of provider tokens.
@Suite(.tags(.database, .processes, .stockClient), .timeLimit(.minutes(4))) struct ClientCertificateTests {
    private let root: TestAuthority
    private let middle: TestAuthority

    init() throws {
        root = try TestAuthority("root")
        middle = try root.intermediate("middle")
    }

    private static func sent(_ chain: [Certificate]) throws -> [NIOSSLCertificate] {
        try chain.map { certificate in
            var serializer = DER.Serializer()
            try serializer.serialize(certificate)
            return try NIOSSLCertificate(bytes: serializer.serializedBytes, format: .der)
        }
    }

    /// The topic of a chain; nil if it is invalid.
    private func topic(_ chain: [Certificate]) async throws -> String? {
        await ClientAuthorities([root.certificate]).judge(try Self.sent(chain)).topic
    }

    @Test func `an extended key usage must include client authentication`() async throws {
        let cases: [(usages: [ExtendedKeyUsage.Usage]?, isCritical: Bool, isGood: Bool)] = [
            (nil, false, true), ([.clientAuth], false, true), ([.clientAuth], true, true),
            ([.serverAuth, .clientAuth], false, true), ([.any], false, true), ([.serverAuth], false, false),
            ([.serverAuth], true, false), ([.emailProtection, .codeSigning], false, false),
        ]
        for (usages, isCritical, isGood) in cases {
            let (leaf, _) = try root.client(PushSuite.app, usages: usages, isCritical: isCritical)
            let topic = try await topic([leaf])
            #expect(topic == (isGood ? PushSuite.app : nil), "\(String(describing: usages)) \(isCritical)")
        }
        // The usage of an intermediate certificate counts, too.
        let servers = try root.intermediate("servers", usages: [.serverAuth])
        #expect(try await topic([try servers.client(PushSuite.app).certificate, servers.certificate]) == nil)
        let clients = try root.intermediate("clients", usages: [.clientAuth])
        let leaf = try clients.client(PushSuite.app).certificate
        #expect(try await topic([leaf, clients.certificate]) == PushSuite.app)
    }

    @Test func `a resumed session is verified with the intermediates of its chain`() async throws {
        let authorities = ClientAuthorities([root.certificate])
        let (leaf, _) = try middle.client(PushSuite.app)
        let session = try #require(try Self.sent([leaf]).first)
        #expect(await authorities.judge(resumed: session) == .invalid)
        #expect(await authorities.judge(try Self.sent([leaf, middle.certificate])).topic == PushSuite.app)
        #expect(await authorities.judge(resumed: session).topic == PushSuite.app)
        // Known intermediates count only for resumed sessions, and invalid chains add none.
        #expect(await authorities.judge(try Self.sent([leaf])) == .invalid)
        let stranger = try TestAuthority("stranger")
        let strange = try stranger.intermediate("strange")
        let foreign = try strange.client(PushSuite.app).certificate
        let chain = try Self.sent([foreign, strange.certificate, stranger.certificate])
        #expect(await authorities.judge(chain) == .invalid)
        #expect(await authorities.judge(resumed: chain[0]) == .invalid)
    }

    @Test func `a stock client resumes a session with a certificate chain`() async throws {
        let folder = URL.temporaryDirectory.appending(path: "dormouse-clients-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let authority = folder.appending(path: "clients.pem").path
        #expect(PrivateFile.write(try TestAuthority.pem([root.certificate]), to: authority))
        let middle = middle
        try await PushSuite.run(["APNS_CLIENT_AUTHORITY": authority]) { suite in
            let token = try await suite.makeDevice("phone")
            let (leaf, key) = try middle.client(PushSuite.app)
            let script = try #require(
                Bundle.module.path(forResource: "resumed_session", ofType: "py", inDirectory: "Python"))
            func resume(_ chain: [Certificate]) async throws -> [String] {
                let file = folder.appending(path: "\(UUID()).pem").path
                #expect(PrivateFile.write(try TestAuthority.pem(chain, key), to: file))
                return try await PythonEnvironment.make().run(
                    script, ["\(suite.apns)", suite.authority, file, "/3/device/\(token)"])
            }
            let refused = #"403 {"reason":"BadCertificate"}"#
            #expect(try await resume([leaf]) == ["False " + refused, "True " + refused])
            #expect(try await resume([leaf, middle.certificate]) == ["False 200 ", "True 200 "])
        }
    }

    @Test func `channels accept requests with a client certificate`() async throws {
        try await PushSuite.run { suite in
            _ = try await suite.makeDevice("phone")
            let file = try suite.clientCertificate(PushSuite.app)
            let client = try await HTTP2Client.connect(
                port: suite.apns, authority: suite.authority, certificate: file)
            let path = "/1/apps/\(PushSuite.app)"
            let made = try await client.exchange(
                1, "POST", path + "/channels",
                body: Array(#"{"message-storage-policy":1,"push-type":"LiveActivity"}"#.utf8))
            #expect(made.status == "201", "\(made.text)")
            let channel = try #require(made.headers.first(name: "apns-channel-id"))
            let named = [("apns-channel-id", channel)]
            #expect(try await client.exchange(3, "GET", path + "/channels", named).status == "200")
            let list = try await client.exchange(5, "GET", path + "/all-channels")
            #expect(list.text == #"{"channels":["\#(channel)"]}"#)

            #expect(try await suite.subscribe("phone", to: [channel]).status == 200)
            let broadcast = named + [("apns-push-type", "liveactivity")]
            let body = Array(#"{"aps":{"event":"update"},"text":"goal"}"#.utf8)
            let sent = try await client.exchange(
                7, "POST", "/4/broadcasts/apps/\(PushSuite.app)", broadcast, body: body)
            #expect(sent.status == "200", "\(sent.text)")
            var stream = try await DeviceStream(suite, "phone")
            #expect(try await stream.next()?["payload"]?["text"]?.string == "goal")
            let senders = try await Database(suite).pool.execute(
                Statement("SELECT DISTINCT actor FROM bus.events WHERE type = 'push.notification.received'"))
            #expect(try senders.decode(String?.self) == ["certificate:\(PushSuite.app)"])

            // The certificate is valid for its own app alone.
            for (number, method, foreign) in [
                (9, "GET", "/1/apps/com.other/all-channels"), (11, "POST", "/4/broadcasts/apps/com.other"),
            ] {
                let answer = try await client.exchange(number, method, foreign, broadcast, body: body)
                #expect(answer.status == "403" && answer.text == #"{"reason":"TopicMismatch"}"#)
            }
            #expect(try await client.exchange(13, "DELETE", path + "/channels", named).status == "204")
            await client.close()
        }
    }

    @Test func `an invalid file in the authority's folder is reported with the folder's setting`() throws {
        let folder = URL.temporaryDirectory.appending(path: "dormouse-apns-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let authority = try DevelopmentAuthority.open(folder)
        try authority.provideServerCertificate(["localhost"])
        func fault() -> ConfigurationError? {
            #expect(throws: ConfigurationError.self) {
                try ServerCertificate(
                    chainFile: authority.serverFile.path, keyFile: authority.serverKeyFile.path,
                    names: authority.names, logger: Logger(label: "test"))
            }
        }
        let setting = "APNS_CERTIFICATES (--apns-certificates): "
        let other = try authority.issueClientCertificate(topic: PushSuite.app, environments: [])
        #expect(PrivateFile.write(other.key, to: authority.serverKeyFile.path))
        #expect(
            fault()?.description == setting
                + "server-key.pem in it is not the key of server.pem: remove both, and start again")
        #expect(PrivateFile.write("nothing", to: authority.serverKeyFile.path))
        #expect(
            fault()?.description == setting + "server-key.pem in it has no private key in PEM without a password")
        try FileManager.default.removeItem(at: authority.serverFile)
        #expect(fault()?.description == setting + "cannot read server.pem in it")
        // The next start creates removed files again.
        try FileManager.default.removeItem(at: authority.serverKeyFile)
        try authority.provideServerCertificate(["localhost"])
        #expect(throws: Never.self) {
            try ServerCertificate(
                chainFile: authority.serverFile.path, keyFile: authority.serverKeyFile.path, names: authority.names,
                logger: Logger(label: "test"))
        }
    }
}

extension PushSuite {
    /// Issues a certificate of the endpoint's development authority.
    ///
    /// - Returns: the path of the file with the certificate and its key.
    func clientCertificate(
        _ topic: String, _ environments: [String] = [], days: Int = 1
    ) throws -> String {
        let authority = try DevelopmentAuthority.open(certificates)
        let issued = try authority.issueClientCertificate(
            topic: topic, environments: environments.compactMap { .init(rawValue: $0) }, days: days)
        let file = certificates.appending(path: "\(UUID()).pem").path
        #expect(PrivateFile.write(issued.certificate + "\n" + issued.key + "\n", to: file))
        return file
    }
}
