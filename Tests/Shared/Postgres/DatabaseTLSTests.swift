import Foundation
import TestSupport
import Testing

@testable import Postgres

/// TLS to a server whose certificate an authority of its own has signed.
@Suite("TLS to the database", .tags(.database, .processes), .timeLimit(.minutes(3))) struct DatabaseTLSTests {
    @Test func `verify-full trusts only the authority and the name of the server`() async throws {
        let authority = try await Authority.make()
        let stranger = try await Authority.make()
        let cluster = try await PrivateCluster.make(fsync: false)
        @Sendable func open(_ host: String, _ trusted: Authority) async throws -> Connection {
            let url = "postgresql://\(cluster.superuser):\(cluster.password)@\(host):\(cluster.port)/postgres"
            let options = try ConnectionOptions(url: "\(url)?sslmode=verify-full&sslrootcert=\(trusted.certificate)")
            return try await Connection.open(options, logger: .quiet)
        }
        @Sendable func reason(_ host: String, _ trusted: Authority) async throws -> ConnectFailure.Reason? {
            do {
                await (try await open(host, trusted)).close()
                return nil
            } catch PostgresError.connectFailed(let failure) { return failure.reason }
        }
        #expect(try await reason("localhost", authority) == .untrusted, "the server has no TLS")
        try await authority.certify(cluster)
        try await eventually(describe: "the server has TLS") { try await reason("localhost", authority) == nil }
        let connection = try await open("localhost", authority)
        let rows = try await connection.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        #expect(try rows.decode(Bool.self) == [true])
        await connection.close()
        #expect(try await reason("127.0.0.1", authority) == .untrusted, "the certificate has another name")
        #expect(try await reason("localhost", stranger) == .untrusted)

        // The base for Kubernetes sets these variables, and its URLs name no mode.
        let url = "postgresql://\(cluster.superuser):\(cluster.password)@localhost:\(cluster.port)/postgres"
        func migration(_ trusted: Authority) throws -> ChildProcess {
            try ChildProcess.start(
                ChildProcess.product("push"), ["migrate", "--migration-database-url", url],
                environment: ["PGSSLMODE": "verify-full", "PGSSLROOTCERT": trusted.certificate])
        }
        let refused = try migration(stranger)
        #expect(try await refused.exit(within: 60) != .exited(0))
        #expect(refused.errors.tail().contains("certificate"), "\(refused.errors.tail())")
        #expect(try await migration(authority).exit(within: 90) == .exited(0))
        try await cluster.destroy()
    }
}

private struct OpenSSLFailed: Error {
    let output: String
}

/// An authority in a folder of its own.
private struct Authority {
    let folder: URL
    var certificate: String { folder.appendingPathComponent("ca.pem").path }

    static func make() async throws -> Authority {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("authority-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let authority = Authority(folder: folder)
        try await authority.run(
            "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem")
        return authority
    }

    /// Gives a running server a certificate for `localhost`.
    func certify(_ cluster: PrivateCluster) async throws {
        try await run(
            """
            printf 'subjectAltName=DNS:localhost' > names
            openssl req -newkey rsa:2048 -nodes -subj /CN=server -keyout server.key -out server.csr
            openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem
            chmod 755 . && chmod 644 server.key server.pem
            """)
        // The server copies the files, because it must own its key.
        let copy = "cat > /dev/null; install -m 600 \(folder.path)/server.key \(folder.path)/server.pem ."
        for statement in [
            "COPY (SELECT 1) TO PROGRAM '\(copy)'", "ALTER SYSTEM SET ssl_cert_file = 'server.pem'",
            "ALTER SYSTEM SET ssl_key_file = 'server.key'", "ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()",
        ] {
            try await cluster.sql(statement)
        }
    }

    private func run(_ script: String) async throws {
        let shell = try ChildProcess.start(
            "/bin/sh", ["-ec", "cd '\(folder.path)'\n\(script)"], environment: ["PATH": "/usr/bin:/bin"])
        guard try await shell.exit() == .exited(0) else { throw OpenSSLFailed(output: shell.errors.tail()) }
    }
}
