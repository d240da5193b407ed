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

/// The bytes that a task sends outlive the upload that they came from.
@Suite(.tags(.database, .processes), .serialized) struct LinkedFiles {
    @Test func `a linked file is swept after its task has sent it`() async throws {
        let received = Mutex<[String]>([])
        let server = try await CannedServer.start { request in
            received.withLock { $0.append(String(buffer: request.body)) }
            return status(201)
        }
        let link = try await TCPProxy.start(port: server.port)
        try await link.pause()
        let (suite, transfer) = try await TransferSuite.start(allowing: [link.port])
        defer { transfer.signal(SIGTERM) }
        try await suite.prepare("phone")
        let logger = Logger(label: "sweep")
        let pool = ConnectionPool(
            try ConnectionOptions(url: suite.cluster.url(database: suite.database)), size: 1, logger: logger)
        let states = FileReferences(store: TransferStore(pool: pool, partitions: 16))
        let sweep = StorageSweep(
            storage: try DirectoryStorage(suite.directory.path), folder: .segments, age: .zero, logger: logger
        ) { try await states.pieces(of: $0) }

        let upload = try await suite.upload("0123456789")
        let created = try await suite.call(
            .POST, suite.transferPort, Downloads.session("phone") + "/uploads",
            #"{"resume":true,"url":"http://127.0.0.1:\#(link.port)/","file":"\#(upload)"}"#)
        #expect(created.json["task"]?.int == 1)
        try await suite.terminate(upload)
        #expect(try suite.files(in: "uploads").isEmpty)
        let linked = try suite.files(in: "segments")
        #expect(linked.count == 1)
        try await sweep.sweep()
        #expect(try suite.files(in: "segments") == linked, "the task still needs it")

        link.resume()
        let done = try await suite.completed(1)
        #expect(done["error"] == .null && received.withLock(\.self) == ["0123456789"])
        try await sweep.sweep()
        await pool.close()
        #expect(try !suite.files(in: "segments").contains(linked[0]))
    }
}
