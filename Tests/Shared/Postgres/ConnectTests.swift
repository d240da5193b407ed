import Postgres
import TestSupport
import Testing

@Suite("Connecting", .tags(.database))
struct ConnectTests {
    private func failure(_ url: String, password: String? = nil, timeout: Int = 30) async throws -> ConnectFailure? {
        let options = try ConnectionOptions(url: url, password: password, connectTimeoutSeconds: timeout)
        guard
            case .connectFailed(let failure) = await caught({
                _ = try await Connection.open(options, logger: .quiet)
            })
        else { return nil }
        return failure
    }

    @Test func `a wrong password is reported without the password`() async throws {
        let cluster = try await PrivateCluster.shared()
        let url = "postgres://\(cluster.superuser)@127.0.0.1:\(cluster.port)/postgres"
        let wrong = try await failure(url, password: "hunter2")
        #expect(wrong?.reason == .refusedCredentials)
        #expect(wrong?.sqlState == "28P01")
        #expect(wrong?.description.contains("check both") == true)
        #expect(wrong.map { String(reflecting: $0) }?.contains("hunter2") == false)
        #expect(try await failure(url, password: cluster.password) == nil)
    }

    @Test func `an unknown database is reported`() async throws {
        let cluster = try await PrivateCluster.shared()
        let failure = try await failure(cluster.url(database: "nowhere"))
        #expect(failure?.reason == .unknownDatabase)
        #expect(failure?.description.contains("does not exist") == true)
    }

    @Test func `an address without a server is reported with host and port`() async throws {
        let port = try freePort()
        let failure = try await failure("postgres://someone@127.0.0.1:\(port)/data")
        #expect(failure?.reason == .unreachable)
        #expect(
            failure?.description == "no connection to PostgreSQL at 127.0.0.1:\(port)/data: nothing answers there; "
                + "check host and port, and that the server runs")
    }

    @Test func `a host name that does not resolve is unreachable`() async throws {
        #expect(try await failure("postgres://someone@name.invalid/data")?.reason == .unreachable)
    }

    @Test func `a silent host times out and the next host is tried`() async throws {
        let cluster = try await PrivateCluster.shared()
        let silent = try await TCPProxy.start(port: cluster.port)
        try await silent.pause()
        // The timeout holds for each host, so a busy machine needs a longer one for the second host.
        var connection: Connection?
        for timeout in [2, 8, 30] where connection == nil {
            let options = try ConnectionOptions(
                url: "postgres://\(cluster.superuser)@127.0.0.1:\(silent.port),127.0.0.1:\(cluster.port)/postgres",
                password: cluster.password, connectTimeoutSeconds: timeout)
            connection = try? await Connection.open(options, logger: .quiet)
        }
        let port = try await connection?.execute("SELECT inet_server_port()")[0].decode(Int.self)
        #expect(port == cluster.port)
        #expect(try await failure("postgres://x@127.0.0.1:\(silent.port)/postgres", timeout: 1)?.reason == .timedOut)
        try await silent.stop()
    }

    @Test func `a read-only server is skipped`() async throws {
        let readOnly = try await PrivateCluster.make(fsync: false, settings: ["default_transaction_read_only": "on"])
        let cluster = try await PrivateCluster.shared()
        #expect(try await failure(readOnly.url(database: "postgres"))?.reason == .notWritable)
        let options = try ConnectionOptions(
            url: "host=\(readOnly.socketDirectory),\(cluster.socketDirectory) port=\(readOnly.port),\(cluster.port) "
                + "user=\(cluster.superuser) dbname=postgres")
        let connection = try await Connection.open(options, logger: .quiet)
        #expect(try await connection.execute("SHOW port")[0].decode(String.self) == "\(cluster.port)")
        try await readOnly.destroy()
    }
}
